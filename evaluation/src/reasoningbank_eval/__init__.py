"""How good recall is, and what is learned, measured on data that anyone can put into a folder."""
