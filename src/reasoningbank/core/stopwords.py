"""English function words: they make a sentence but say nothing about its subject.

A keyword search leaves them out of a question, since a memory that shares "how", "do" and "the" with it has nothing in
common with it. Negations and words of order ("not", "before") are kept: they change what is asked for.
"""

from __future__ import annotations

STOP_WORDS: frozenset[str] = frozenset(
    (
        *("a", "an", "the", "and", "or", "but", "nor", "if", "then", "else", "than", "that", "this", "these", "those"),
        *("there", "here", "of", "in", "on", "at", "to", "from", "by", "with", "into", "onto", "about", "for", "as"),
        *("is", "am", "are", "was", "were", "be", "been", "being", "do", "does", "did", "doing", "done"),
        *("have", "has", "had", "having", "can", "could", "may", "might", "must", "shall", "should", "will", "would"),
        *("it", "its", "itself", "he", "him", "his", "himself", "she", "her", "hers", "herself"),
        *("they", "them", "their", "theirs", "themselves", "we", "us", "our", "ours", "ourselves"),
        *("you", "your", "yours", "yourself", "yourselves", "i", "me", "my", "mine", "myself"),
        *("who", "whom", "whose", "which", "what", "when", "where", "why", "how"),
        *("any", "each", "some", "such", "so", "too", "very", "just", "also", "ever", "please", "want", "need"),
        # Contractions, as `core.text` spells them: without their apostrophe.
        *("dont", "isnt", "arent", "wasnt", "werent", "hasnt", "havent", "hadnt", "doesnt", "didnt", "wont", "wouldnt"),
        *("couldnt", "shouldnt", "cant", "cannot", "im", "id", "ive", "ill", "youre", "youve", "youd", "youll"),
        *("hes", "shes", "weve", "wed", "theyre", "theyve", "theyd", "whats", "thats", "theres", "heres", "wheres"),
        *("whos", "hows", "lets"),
    )
)
