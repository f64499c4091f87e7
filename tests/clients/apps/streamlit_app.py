"""A page that shows whom `st.login` has signed in."""

import streamlit as st

if st.user.is_logged_in:
    st.text(f"user: {st.user.sub}, {st.user.name}, {st.user.email}")
    st.button("Sign out", on_click=st.logout)
else:
    st.button("Sign in", on_click=st.login)
