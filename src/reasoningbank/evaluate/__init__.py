"""How good recall is, measured on labelled data that anyone can put into a folder."""
