-- Runs once, in a fresh cluster. The servers connect as an ordinary role: a superuser is past row-level security.
\getenv password BANK_PASSWORD
CREATE ROLE bank LOGIN PASSWORD :'password';
CREATE DATABASE bank OWNER bank ENCODING 'UTF8' TEMPLATE template0;
\connect bank
CREATE EXTENSION IF NOT EXISTS vector;
