#!/bin/sh
# The image of PostgreSQL runs this once, on an empty data folder: a role that is not a superuser.
set -eu
psql --username postgres --set ON_ERROR_STOP=1 <<'SQL'
\getenv password AUTHSITE_PASSWORD
CREATE ROLE authsite LOGIN PASSWORD :'password';
CREATE DATABASE authsite OWNER authsite;
SQL
