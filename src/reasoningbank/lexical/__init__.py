"""What texts are made of when they are compared by their words: terms, forms, rare words and what each is worth."""
