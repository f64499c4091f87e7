"""Ways to prove who one is; each module has a `Method`, which `authsite.sign_in` registers."""
