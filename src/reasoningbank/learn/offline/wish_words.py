"""Words in which people set rules, in English: data for `rule_sentences` and for whoever compares rules."""

from __future__ import annotations

from reasoningbank.core.patterns import pattern

ANY_WORD = pattern(r"[\w][\w'’/.+-]*\w|\w")


def _any(words: str) -> str:
    return "(?:" + "|".join(word.replace("_", " ") for word in words.split()) + ")"


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


NEGATIONS = _set("never not don't don’t dont no avoid stop without nobody mustn't shouldn't can't cannot won't doesn't")
FRAME = _set(
    "a an the and or of to in on at for with by as is are be it its this that these those you your we our us i me "
    "my i'd i'll please always ever again from now on going forward future here out just do does did only must "
    "should shall need needs want wants would like prefer rather make sure remember use using when whenever if so "
    "all every any each default"
)
"""Words in which any rule is said: they tell nothing of its subject."""
IDLE = _set(
    "keep limit wrap indent indentation maximum max minimum min most least width length longer exceed under over below "
    "up than more fewer less per line lines target answer style fine ok okay right allowed free feel may can could "
    "back switch go instead rather actually now rule about everything anything everywhere thing things know let"
)
"""Words that do not make two rules speak of different things."""
EVERYWHERE = _set("repo repository project codebase general future now everything here english way")
"""After `in` or `for`: no narrower place than that in which the rule was said."""
LANGUAGES = _set(
    "english german french spanish italian portuguese dutch chinese japanese korean russian polish turkish "
    "swedish danish norwegian finnish czech ukrainian arabic hindi greek hebrew"
)
LANGUAGE = _any(" ".join(sorted(LANGUAGES)) + " deutsch français español plain_english")
CRAFT = _any(
    "tests? test_cases? unit_tests? integration_tests? commits? commit_messages? messages? pull_requests? prs? "
    "mrs? merges? branches branch branch_names? code functions? methods? class(?:es)? variables? names? "
    "identifiers? files? file_names? folders? modules? packages? comments? docstrings? docs? documentation "
    "readmes? imports? exports? migrations? secrets? passwords? credentials keys? tokens? dependencies dependency "
    "libraries logs? logging dates? times? timestamps? answers? replies reply explanations? type_hints? types? "
    "annotations? strings? errors? exceptions? constants? configs? configuration sql quer(?:y|ies) schemas? "
    "schema_changes? releases? deploys? deployments? builds? changes? features? fix(?:es)? bugfixes hotfixes "
    "endpoints? apis? components? styles? lines? indentation formatting whitespace spelling versions? changelogs? "
    "tickets? issues? scripts? pipelines? reviews? refactorings? refactors? data backups? environments? flags? "
    "helpers? utilities mocks? fixtures? snapshots? assertions? todos? warnings? hooks? plans? summaries diffs? "
    "edits?"
)
"""What programmers make rules about."""
NO_HABIT = _any(
    "need have had has should want can could must_have are were was will would got get see saw think thought know "
    "knew found figured tried did do_not_know might may just also both still already all_know recently noticed "
    "hit ran broke lost went made gave took came wrote added changed updated upgraded moved switched fixed merged "
    "deployed can't cannot couldn't didn't aren't weren't haven't won't wouldn't shouldn't really seem "
    "keep_getting discussed agreed talked decided"
)
"""After `we`: what happened, is, or is to be done, and no habit."""
TALK = _any("answer reply respond speak talk write_to_me write explain communicate")
GENERIC_TALK = _any("answer reply respond talk speak")
MANNER = _any(
    "answer reply respond explain summari[sz]e apologi[sz]e speak talk address greet thank interrupt confirm tell_me "
    "show_me remind_me ask_me call_me give_me"
)
MANNERS = _any(
    "brief(?:ly)? concise(?:ly)? short(?:er)? terse polite(?:ly)? formal(?:ly)? informal(?:ly)? direct(?:ly)? "
    "verbose thorough explicit honest careful specific simpl[ey]_words plain(?:ly)? detailed consistent small "
    "to_the_point like_i['’]m as_if_i"
)
IMPERATIVES = _any(
    "run ask check update add write test build format lint review explain show make commit rebase pull fetch "
    "merge use bump document tell stop wait confirm verify double-check read look start create open close tag "
    "squash sign validate sync clean save back_up log include mention link list keep put do be give summari[sz]e "
    "rerun regenerate notify consult push warn prefer avoid treat leave move delete remove rename"
)
DONE_ONLY = _any(
    "use commit push merge deploy edit touch change run install import write add create release apply ask read "
    "delete remove log answer reply respond call build test format publish accept rely depend work"
)
FORBIDDEN_THINGS = _any(
    "squash amend rebase rename revert touch edit modify change push commit delete remove drop deploy merge use "
    "run install add create rewrite reformat refactor force-push skip disable mock log print expose hard-?code "
    "import assume guess apologi[sz]e explain repeat tell ask put write store ship"
)
"""What is forbidden for good even where one thing is named."""
OCCASIONS = _any(
    "change commit push pr pull_request release deploy deployment edit feature fix merge task step session answer "
    "reply refactoring test build"
)
IDLE_VERBS = _any(
    "worry mind forget bother think know see understand wait panic you be_sorry get have want need it that seen "
    "gonna give_up hesitate stop let quote care"
)
PAST = _any(
    "thought seen had knew known got gone heard did done went came saw found met made took been was were is has "
    "felt said told left"
)
DETERMINED = pattern(
    r"(?i)\b(?:a|an|the|this|that|these|those|it|its|them|here|there|my|his|her|second|first)\b"
    r"|\b[\w-]+(?:/[\w.-]+)+|\[|\b[\w.]+@\w"
    r"|\b\w+\.(?:py|js|ts|tsx|go|rs|java|c|cpp|h|rb|php|sql|ya?ml|json|toml|md|html|css|sh)\b"
)
"""Words that point at one thing: what is asked of it is a task."""
IDENTIFIER = pattern(r"\b[a-z]+(?:_[a-z0-9]+)+\b(?!-)|\b[a-z]+[A-Z]\w+\b|\b\w+\(\)")
LOCAL = pattern(
    r"(?i)\b(?:for now|this time|just (?:this )?once|only this once|yet|today|tonight|right now|at the moment|meanwhile"
    r"|for (?:this|the) (?:task|change|moment|time being)"
    r"|in (?:this|the) (?:pr|commit|change|task|file|function|method|class|diff|branch|pull request)"
    r"|until the|until (?:i|you|we|it)|when you(?:['’]re| are) (?:done|ready|finished|through)|break (?:any|every)thing"
    r"|this (?:one|week|sprint)|now|instead here|already|(?:any|no)thing else)\b"
)
"""What holds for the moment is no rule."""
LASTING = pattern(
    r"(?i)\b(?:from (?:now|here|today) on(?: ?wards?)?(?: out)?|going forward|henceforth|as a rule|at all times"
    r"|under no circumstances|until further notice|for future reference|keep in mind|bear in mind"
    r"|(?:do not|don['’]t|never) ever|on principle|without exception)\b|^in (?:the )?future\b"
    r"|^(?:please|don['’]t|do not|always|never|make sure)\b.*\bin (?:the )?future\b"
)
TROUBLE = pattern(
    r"(?i)\b(?:crash\w*|fail(?:s|ed|ing)?|errors? out|bugs?|broken|breaks?|broke|timeouts?|times out|hangs?|stuck|404"
    r"|500|does ?n[o'’]t work|slow|wrong|keeps? (?:getting )?\w+(?:ing|ed)|i need|i want|i get)\b"
)
QUESTION = pattern(
    r"(?i)^(?:what|why|how|who|whom|whose|which|where|when (?:do|does|did|is|are|was|will|should)|is|are|was|were|do"
    r"|does|did|has|have|had|can|could|would|will|should|shall|may|might|am|isn['’]t|aren['’]t|don['’]t you|any)\b"
    r"(?! not\b)(?! (?:always|never)\b)"
)
ASKS_YOU = pattern(r"(?i)^(?:can|could|would) you\b")
REPORTED = pattern(
    r"(?i)^(?:error|warning|warn|info|debug|fatal|hint|\w+(?:Error|Exception|Warning)|npm \w+)\b[^:]{0,20}:"
    r"|\b(?:he|she|they|docs?|documentation|readme|boss|manager|colleague|coworker|article|book|post|logs?|message"
    r"|error|manual|guide|linter|compiler|output|someone|somebody|people|wiki|comment|ticket|issue|customer|client)\b"
    r"[^,;:]{0,40}"
    r"\b(?:says?|said|reads?|states?|told|tells?|warns?|recommends?|suggests?|claims?|mentions?|wants?)\b"
    r"|\b(?:getting|got|get|see|seeing|prints?|shows?)\s+Q{2,}|\blet['’]s\b"
)
NO_IDIOM = pattern(
    r"(?i)^no (?:problem|worries|idea|such|way|need|rush|thanks?|luck|change|difference|output|errors?|results?|answer"
    r"|response|one|match(?:es)?|module|matter|doubt|wonder|more|longer|big|hurry|offen[cs]e|stress|worry|hard|clue|it|that"
    r"|this|i|you|we|they|he|she|there|not|pressure|action)\b"
)
