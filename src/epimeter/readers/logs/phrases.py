# SPDX-License-Identifier: Apache-2.0
"""The words of the grammar of stated confidence, as patterns for lower-case text."""

from __future__ import annotations

import re

NOUN = (
    r"(?<![a-z])(?:confiden(?:ces?|za)|certainty|credence|sureness|conf(?![a-z])\.?|certitude|certez?za?\b|zekerheid|vertrouwen|vertrauen)|"
    r"konfidenz|zuversicht|confiance|confianza|confiança|fiducia|sicherheit|betrouwbaarheid|pewność|уверенность|"
    r"置信度|自信度|信心|把握|確信度|确信度|信頼度|확신도|신뢰도"
)
CHANCE = r"probability|likelihood|chances?|wahrscheinlichkeit|probabilité|probabilidad"
ADJECTIVE = (
    r"confident|sure|certain|positive|convinced|likely|"
    r"confiante?|sicher|segur[oa]|sicur[oa]|sûre?|zeker|pewien|pewna|уверена?"
)
NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?|[.,]\d+)"
PERCENT = r"(?:%|percent\b|per\s+cent\b|pct\b|prozent\b|percentage\s+points?\b)"
RANGE = rf"{NUMBER}\s*{PERCENT}?\s*(?:-|~|to|and|bis|à|…|\.\.\.?)\s*{NUMBER}\s*{PERCENT}?"
PAIR = rf"{NUMBER}\s*{PERCENT}?\s*,\s*{NUMBER}\s*{PERCENT}?\s*[\])]"
"""A range in brackets, without its first: ``60%, 70%]``."""

STEMS = {
    "conf": ("confid", "confian", "conf:", "conf=", "conf.", "conf ", "conf>", 'conf"', "conf'"),
    "cert": ("certain", "certez", "certit"),
    "sic": ("sicher", "sicur"), "vertr": ("vertrauen", "vertrouwen"), "pew": ("pewien", "pewna"), "credence": (), "sure": (),
    "konfidenz": (), "zuversicht": (), "fiducia": (), "probab": (), "likel": (), "chance": (), "wahrscheinlich": (),
    "positive": (), "convinced": (), "segur": (), "zeker": (), "betrouwbaar": (),
}  # fmt: skip
"""Letters that a word for confidence has, and how they may go on: looked for one by one, which is much faster than a pattern of
all. Every beginning costs a pass over the text."""
CHANCE_OF = re.compile(r"p(?:r(?:ob)?)?\s*\(")
LONGEST_LINE = 60
PLAINLY = re.compile(
    r"(?:\A|\n)[ \t]*c(?P<word>onfidence)[ \t]*:[ \t]*"
    r"(?:(?P<percent>100|[1-9]?[0-9])[ \t]*%|(?P<number>[0-9]{1,4}(?:[.,][0-9]{1,8})?%?))"
    r"[ \t]*\.?\s*\Z",
    re.I,
)
"""A last line that says it in so many words, as most do, within its last characters."""
LABEL = re.compile(
    rf"(?P<lead>(?:answer|guess|option|response)\s+(?:and|&|\+)\s+)?"
    rf"(?P<word>(?:{NOUN})|(?P<chance>\b(?:{CHANCE}))|\bp(?:r(?:ob)?)?\s*\((?:(?:my\s+|the\s+)?answer\s+is\s+)?(?:correct|true|right|i\s*know|yes)\)|\b(?P<adjective>{ADJECTIVE})\b)",
    re.I,
)
KIND = re.compile(
    r"[\s_-]*(?P<kind>score|level|rating|estimate|assessment|judge?ment|figure|value|percentage|percent|pct|in\s+(?:%|percent)|probability|number|grade|out\s+of\s+\d+)s?(?![a-z])",
    re.I,
)
OTHER = re.compile(
    r"[\s_-]*(?:intervals?|limits?|bounds?|bands?|regions?|contours?|ellips\w+|cones?|sets?|coefficients?|ind(?:ex|ices)|thresholds?|cut-?offs?|requirements?|"
    r"required|needed|building|trick|man|votes?|motion|boost(?:er)?|matter|mass|density|distribution|function|theory|test|space|ratio)\b",
    re.I,
)
"""What follows a word for confidence when it means something else."""
BEFORE = re.compile(
    r"(?:interval\w*\s+d[ei]|sampling|ocr|asr|stt|recognition|detection|transcription|classification|tracking|consumer|business|investor|public|voters?|market|customer|self|statistical|over|under|no|lack\s+of|without|breach\s+of|vote\s+of|"
    r"gain(?:s|ed|ing)?|build(?:s|ing)?|inspires?|lacks?|lose|lost|loses|model'?s|authors?'?|users?'?|his|her|their|its|"
    r"patient'?s|doctor'?s|your|people'?s|minimum|maximum|min|max|avg|average|mean|median|required|target|desired|nominal|\w+(?<!answer)(?<!response)'s)[\s_-]*$",
    re.I,
)
"""What stands before a word for confidence that is not the answerer's own."""
REPORTED = re.compile(
    r"\b(?:he|she|they|paper|study|authors?|researchers?|scientists?|doctors?|experts?|polls?|people|who|bob|alice|professor|teacher|"
    r"student|critics?|analysts?|survey|article|said|says|claim(?:s|ed)?|(?<!self-)report(?:s|ed)?|according|defendant|witness|models?|classifier|detector|"
    r"system|forecasters?|company|court|user|you|interval|sensor|network|algorithm|detects?|detected|predicts|outputs?|association\s+rule)\b|"
    rf"\bsupport\s*(?:[=:]|of|is)?\s*{NUMBER}",
    re.I,
)
ANOTHER = re.compile(
    r"\b(?:my|our|the|a)\s+(?!answer|guess|choice|response|solution|result)\w+\s+(?:is|are|was|were|feels?|seems?|remains?)\s*(?:\w+\s*)?$",
    re.I,
)
"""Somebody whose sureness is told: «my friend is»."""
WOULD = re.compile(r"(?:\b(?:would|could|might)|\bi'd)\s+be\b", re.I)
CONDITION = re.compile(
    r"\b(?:if|unless|had\s+(?:i|we|it)|whenever|when|until|once|suppose|assuming|should\s+(?:my|the)|in\s+case|in\s+order|were|wenn|falls|si|"
    r"^\W*(?:in\s+order\s+)?to\s+(?:reach|achieve|attain|get|have|obtain|gain|ensure|guarantee|establish)|^\W*to\s+be(?!\s+(?:honest|fair|clear|frank|precise|exact|sure))|must\s+be|need(?:s|ed)?\s+to\s+be|have\s+to\s+be|has\s+to\s+be|required?s?|only\s+answer|format|example|e\.g|for\s+instance|such\s+as|"
    r"please|provide|give\s+(?:your|a)|state\s+your|report\s+your|instructions?|asked|prompt|would\s+need|it\s+takes?|^\W*being)\b|\b(?:needs?|wants?|demands?)\s+(?:an?\s+)?$",
    re.I,
)
"""A clause that speaks of a condition or repeats an instruction states nothing."""
NEGATION = re.compile(
    r"\b(?:not|never|isn't|can't|cannot|aren't|wasn't|don't|hardly|without\s+being|no\s+longer|impossible|unable|hard\s+to|difficult\s+to|nobody|no\s+one|none\s+of|neither|nicht|no\s+estoy|ne\s+suis\s+pas)\b|n't\b",
    re.I,
)
EARLIER = re.compile(
    r"\b(?:earlier|initial(?:ly)?|original(?:ly)?|previous(?:ly)?|at\s+first|first\s+(?:guess|thought|attempt|pass)|before|started|used\s+to|"
    r"was|were|had|draft|prior|old|step\s+\d+)\b",
    re.I,
)
BOUND = re.compile(
    rf"(?:(?:well\s+)?(?:no(?:t)?\s+)?(?:upwards?\s+of|north\s+of|in\s+excess\s+of|below|above|under|over|at\s+least|at\s+most|less\s+than|more\s+than|greater\s+than|higher\s+than|lower\s+than|exceed(?:s|ing)?|"
    rf"up\s+to|minimum|maximum|between|from|mindestens|höchstens|über|unter|plus\s+de|au\s+moins|más\s+de|al\s+menos|almeno|più\s+di)\b|>=?|<=?|≥|≤)\s*(?={NUMBER})",
    re.I,
)
"""A number that is only a bound."""
FILLER = (
    r"(?:\b(?:about|around|approximately|approx|roughly|circa|ca|nearly|almost|close\s+to|maybe|probably|perhaps|say|now|currently|"
    r"only|just|a|an|very\s+high|high|moderate|medium|low|fairly\s+high|still|overall|also|i'd\s+say|i\s+would\s+say|hmm|"
    r"rated?\s+(?:at|as)|estimated\s+(?:at|to\s+be)|exactly|precisely|ungefähr|etwa|environ|unos|somewhere)\b\.?|[~≈∼]|[\u2600-\u27bf\U0001f300-\U0001faff]+)"
)
CHANGED = (
    r"(?:lower|rais|revis|updat|adjust|chang|reduc|increas|decreas|dropp|cut|rose|fell|went|gone)(?:s|e|es|ed|ing)?"
)
CHANGE_TO = re.compile(
    rf"\s*(?:(?:has\s+|have\s+)?{CHANGED}\s+)?(?:from\s+{NUMBER}\s*{PERCENT}?\s+)?(?:down\s+|up\s+)?to\s+(?:{FILLER}\s+)*(?={NUMBER})",
    re.I,
)
"""From what it was to what it is."""
SPELLED = (
    r"(?:(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|percent|out|of)"
    r"[\s-]*)+(?=\()"
)
"""A number in words, before the same in digits."""
AFTER_LABEL = re.compile(
    rf"\s*(?:{FILLER}[\s,;:(-]*)*(?:-\s+)?"
    rf"(?:{SPELLED}|[{{\"'\s]*\b(?:value|score|level|percentage|estimate)[\"']?\s*[:=]\s*)?[\[(\"'{{}}]?\s*",
    re.I,
)
SEPARATOR = re.compile(
    r"\s*(?:[:=|≈~?]+>?|\.{2,4}(?=\s*\d)|[是为為は]|→|->|=>|—|–|[➜➔⇒⟶]|-{1,3}(?=\s)|\bis\b|(?:\bes|\best|è|é|\bist|\bbeträgt|\bliegt)\s+(?:del?\s+|dell'|di\s+|von\s+|bei\s+)?(?=\d)|\bof\b|\bat\b|\bas\b|\bto\s+be\b|\bwould\s+be\b|\bbeing\b|\bsits?\s+at\b|\bstands?\s+at\b|"
    r"\ban?\b(?=\s+\d)|\bdel?\b(?=\s+\d)|\bvon\b(?=\s+\d))",
    re.I,
)
STRONG = re.compile(r"[:=|→➜➔⇒⟶?]|->|=>")
SCALE = re.compile(
    rf"(?:between|from|range|scale|out\s+of|in|of|0|1|\[|\()?[^\d\n]{{0,24}}?(?P<low>[01])(?:[.,]0+)?\s*{PERCENT}?\s*(?:-|to|and|,|…|\.\.\.?|bis|/)\s*"
    rf"(?P<high>100|10|5|7|4|3|1)(?:[.,]0+)?(?!\d)\s*(?P<percent>{PERCENT})?",
    re.I,
)
ENDS = re.compile(r"\b[01]\s*=[^,;=\n]{1,30}[,;]\s*(?P<high>\d{1,3})\s*=")
"""A scale by its ends: ``(1 = low, 10 = high)``."""
OUT_OF = re.compile(r"(?:out\s+of\s+|[(\[]\s*[x_n?]?\s*/\s*)(?P<high>\d{1,3})\b", re.I)
UNIT = re.compile(
    rf"\s*(?:(?P<percent>{PERCENT})|/\s*(?P<over>\d+(?:\.\d+)?)(?![\d/])|[(\[]?\s*(?:(?:out\s+)?of|von|sur|de)\s+(?P<of>\d{{1,3}})(?:\.0)?\b"
    rf"|,?\s*[(\[]?\s*on\s+(?:a|the)\s+(?:scale\s+)?(?:of\s+|from\s+)?(?P<low>[01])\s*(?:-|to|and)\s*(?P<high>\d{{1,3}})\b"
    rf"|,?\s*[(\[]?\s*on\s+a\s+(?P<high2>\d{{1,3}})[\s-]?point\s+scale)",
    re.I,
)
TO_THE_END = re.compile(
    r"\s*(?:[.,;:!?)\]}>\"'|/\\]|$|\n|<|\(|[-–—]|and\b|that\b|in\b|because\b|since\b|as\b|with\b|but\b|[\w ]{1,24}[:=])"
)
CLAUSE = re.compile(
    r"[\n;!?]|\.(?=\s|$)|[()]|(?<=[a-z]),\s+(?=but|while|and|however|so|though|although|now)|\s(?=but\b)|"
    r",\s*(?=[\"'][\w\s-]{1,40}[\"']\s*:)"
)
"""Where a clause ends; a field of an object is one of its own."""
SENTENCE = re.compile(r"[\n!?]|\.(?=\s|$)")
ABOUT = re.compile(
    r"\s*(?:,?\s*(?:on\s+)?(?:an?\s+)?(?:scale\s+)?(?:of\s+|from\s+|between\s+)?[01](?:\.0)?\s*%?\s*(?:-|to|and)\s*(?:100|10|5|7|1)(?:\.0)?\s*%?"
    r"(?=\s*[:=])|[\u2600-\u27bf\U0001f300-\U0001faff]+|(?:before|after)\s+(?:re-?)?\w+(?=\s*[:=])|(?:in|of|about)\s+(?:this|my)\s+\w+(?:\s+\w+)?(?=\s*[:=(])|(?:(?:in\s+)?(?:der|meiner|dieser)\s+antwort|d[ae]n?s?\s+(?:la|ma|cette)\s+réponse|en\s+(?:la|mi|esta)\s+respuesta|n?d?ella\s+(?:mia\s+)?risposta)(?=\s*[:=(])|that\s+[^:;.?\n]{1,80}(?=:)|\([^()\n]{0,60}\)|\[[^\[\]\n]{0,60}\]|in|for|about|that|of|on|regarding|being|my|the|this|its?|correct(?:ness)?|right|true|"
    r"answers?|responses?|final|choice|options?|guess|solution|above|here|given|overall|final|provided|me|i'm|i\s+am|is|was|are|to\s+be|"
    r"accura(?:te|cy)|i\s+have|question|prediction|claim|statement|which|selected|chosen|best|[a-j]|#?\d{1,2}|\d{3,6}(?=\s+is\b)|(?<=\s)\"[^\":\n]{1,60}\"|(?<=\s)'[^':\n]{1,60}'|\"|'|\*|:)(?![\w%.]*\d?%)",
    re.I,
)
MEANS = re.compile(
    r"\s*(?:(?:score|level|rating|value)\s+)?(?:would\s+|should\s+|typically\s+|usually\s+|generally\s+)?"
    r"(?:means?|impl(?:y|ies)|indicates?|signif(?:y|ies)|suggests?|corresponds?|translates?|represents?|reflects?|denotes?|"
    r"(?:is|are|be)\s+(?:considered|enough|sufficient|needed|required|reasonable|typical|appropriate|too))\b",
    re.I,
)
"""What follows a confidence that is spoken of, not stated."""
RETRACTED = re.compile(
    rf"\s*(?:[,;(]|\.{{2,}}|…|-{{1,2}}|—|\.(?=\s))?\s*(?:(?:h+m+|wait|no|well|oh|sorry|ok(?:ay)?)\b[\s,.…-]*)*"
    rf"(?:(?:actually|rather|make\s+(?:that|it)|scratch\s+that|correction|on\s+(?:second\s+thought|reflection)|let'?s\s+(?:say|make\s+it)|"
    rf"i\s+mean|more\s+like|no|wait)\b[\s,:.…-]*)+(?:(?:i'd|i\s+would|let'?s|say|about|around|it'?s|make\s+it|closer\s+to|more\s+like)\s+)*"
    rf"(?={NUMBER}\s*(?:{PERCENT}|/\s*\d|out\s+of))",
    re.I,
)
"""What takes a number back and says another."""
WITHDRAWN = re.compile(
    r"[^\n]{1,60}?[.!;,(…-]\s*(?:(?:but|actually|h+m+|wait|no|ok(?:ay)?|on\s+(?:an?\s+)?(?:second\s+thought|reflection))\b[\s,.…-]*)*"
    r"(?:i\s+(?:withdraw|retract|take\s+(?:that|it|this)\s+back)|scratch\s+(?:that|this|it)|never\s*mind|"
    r"(?:disregard|ignore|strike|forget)\s+(?:that|this|it))\b",
    re.I,
)
"""A statement, and what takes it back without saying another."""
OF_BEING_WRONG = re.compile(
    r"\b(?:(?:i|it|this|that|(?:my|this|the)\s+(?:\w+\s+)?(?:answer|guess|choice|response))(?:'m|'s|\s+(?:is|am|are|was|may\s+be|might\s+be|could\s+be))"
    r"\s+|being\s+|of\s+)(?:in\s+error|an?\s+error|wrong|incorrect|mistaken|not\s+(?:right|correct|true))\b",
    re.I,
)
"""The chance of the contrary."""
DOWNWARD = re.compile(
    r"\b1\s*(?:=|:|is|being|means?)\s*(?:(?:the|very|completely|absolutely|fully|most|extremely)\s+)*(?:highest|high|certain|sure|confident|best)\b"
    r"[^;,/\n]{0,30}[;,/]\s*(?:and\s+)?(?:[3-9]|\d{2,3})\s*(?:=|:|is|being|means?)",
    re.I,
)
"""A scale on which 1 is the surest."""
IN_WORDS = re.compile(
    rf"\s*[a-z][a-z ,'-]{{0,40}}[(\[]\s*(?=(?:{NUMBER}\s*{PERCENT}|{NUMBER}\s*/\s*\d+)\s*[)\]])", re.I
)
"""A level in words, and the number in brackets behind it."""
LEVEL = re.compile(
    rf"\s*(?:is\s+|:\s*)?(?:(?:very|quite|fairly|rather|pretty|relatively)\s+)?(?:low|high|medium|moderate|decent|strong|limited)\s*"
    rf"(?:,|-{{1,2}}|—|:)\s*(?:(?:about|around|roughly|approximately|perhaps|maybe|say|at|i'd\s+say)\s+)*"
    rf"(?={NUMBER}\s*{PERCENT}\s*(?:[.,;)!]|$|\n))",
    re.I,
)
OF_MY_ANSWER = re.compile(
    r"\s*(?:to|for|that|on)\s+(?:my|this|the)\s+(?:\w+\s+){0,2}?(?:answer|guess|choice|response|option|solution)\b",
    re.I,
)
RULE = re.compile(r"\([^()\n]{0,60}(?:→|->|=>|⇒|\||∪)[^()\n]{0,60}\)")
"""A rule of association: its confidence is a share of transactions."""
GIVEN = re.compile(r"\b(?:gives?|provides?|yields?|offers?|grants?|ensures?|guarantees?)\s+(?:an?\s+)?$", re.I)
"""What gives a confidence: a test, a sample, a method."""
ELSEWHERE = re.compile(r"(?:^|[.!?\n]\s*|,\s*)(?:with|at|to)\s+(?:an?\s+)?$", re.I)
"""A sentence that begins with the number: «With 99% certainty, …» is the answerer's own where it goes on to the answer."""
THE_ANSWER = re.compile(
    r"\s*(?:$|[.!\n)]|[,:]?\s*(?:that\s+)?(?:(?:i|my|it|it's|this|final|answer|option|choice)\b|the\s+(?:\w+\s+){0,2}?(?:answer|option|choice|solution)\b|"
    r"(?:in|about|on|regarding)\s+(?:my|this|the)\b|[(\[\"']?[a-j][)\]\"']?\s*(?:[.,;:)\n]|$)))",
    re.I,
)
RIGHT = re.compile(r"\b(?:correct(?:ness)?|right|true|answer|guess|response|choice)\b", re.I)
OPTION = re.compile(
    r"(?:^\s*|\b(?:in|for|of|that)\s+)(?:(?:answer|option|choice|guess)\s+)?[(\"']?(?P<option>[a-j]|\d{1,2})[)\"']?\s*$"
)
THOUGHT = re.compile(r"<(think|thinking|reasoning|scratchpad)>.*?</\1>", re.S | re.I)
OPEN_THOUGHT = re.compile(r"<(?:think|thinking|reasoning|scratchpad)>", re.I)
MARKS = ("*", "_", "`", "\\", "$", "#", ">", "~~")
"""Characters of which markup has at least one: most texts have none, and a pattern would try every place of them."""
STRUCK = re.compile(r"~~[^~\n]{1,200}~~|<(del|s|strike)>.{1,400}?</\1>", re.S | re.I)
"""What was taken back."""
COMMAND = re.compile(r"\\(?:(?:text|boxed|mathrm|textbf|mathbf)\s*\{|[()\[\],;!]|(?:approx|sim)\b|(?=%))")
UNDERLINE = re.compile(r"(?<!\w)_(?=\S)|(?<=\S)_(?!\w)")
"""The mark of emphasis, not the joint of a name."""
LINE_MARK = re.compile(r"^(?:#{1,6}\s*|[^\S\n]*>\s)", re.M)
FRACTION = re.compile(r"\\[dt]?frac\s*\{\s*(\d+(?:\.\d+)?)\s*\}\s*\{\s*(\d+)\s*\}")
INLINE = re.compile(r"</?(?:b|strong|i|em|u|span|code|font|mark)(?:\s[^<>]*)?>", re.I)
BLOCK = re.compile(r"</?(?:p|br|div|li|ul|ol|pre|tr|td|th|table|h\d)(?:\s[^<>]*)?/?>", re.I)
TAG = re.compile(rf"<\s*(?P<word>(?:{NOUN}|{CHANCE})[a-z_ -]*)>\s*", re.I)
DIRECT = re.compile(rf"[\]\s]\s*(?=(?:{NUMBER}\s*(?:{PERCENT}|/|out\s+of\b))|0?[.,]\d|1[.,]0|{NUMBER}[ \t]*(?:$|\n))")
STATISTICS = re.compile(r"^[^.;(\n]{0,60}\b(?:intervals?|hypothes[ei]s|significan(?:t|ce)|sample\s+size)\b", re.I)
OF_A_STUDY = re.compile(
    r"[^.;\n]{0,60}?(?:\bp\s*[<=>≤]\s*0?\.\d|\b(?:was|were|is|are)\s+(?:used|chosen|assumed|standard|typical|conventional|common)\b|"
    r"\b(?:in|of|by)\s+the\s+(?:study|survey|poll|trial|sample|population)\b|\bmargin\s+of\s+error\b|\bthat\s+the\s+(?:true\s+)?"
    r"(?:mean|parameter|population)\b|\b(?:population|true)\s+(?:mean|proportion|parameter|value)\b|\b(?:lies|falls|is)\s+between\s+\d)",
    re.I,
)
"""What follows a confidence that belongs to a statistical test."""
OF_STATISTICS = re.compile(
    r"\b[znt]\s*=\s*\d|\b[znt]-?(?:scores?|values?)\b|\bsample\s+size\b|\bmargin\s+of\s+error\b|\bcritical\s+values?\b|\bsided\b|"
    r"\bstandard\s+errors?\b|\bp-?values?\b|\bnull\s+hypothesis\b|\bstatistically\b",
    re.I,
)
"""A sentence in which a confidence is the coverage of an interval."""
ASKED = re.compile(r"\b(?:should|am|are|is|can|could|do|would)\s+(?:i|you|we)\s+(?:\w+\s+)?$", re.I)
SAID = re.compile(r"[^\n.\"”]{0,60}[,.!?]?[\"”]\s*(?:said|says|replied|answered|thought|claimed|he|she)\b", re.I)
MYSELF = re.compile(r"\b(?:i|i'm|im|i'd|i've|i'll|my|me|ich|mir|je|estoy|sono)\b", re.I)
"""The answerer alone: «we are 95% confident» is how statisticians speak of intervals."""
QUOTED_EXAMPLE = re.compile(r"\b(?:e\.g\.?|i\.e\.?|eg),?\s*[\"'`]?$", re.I)
OPTION_AFTER = re.compile(
    r"\s*(?:that\s+)?(?:(?:the\s+)?(?:correct\s+|right\s+)?(?:answer|option|choice)\s+is|it'?s|it\s+is|in|of|about|on|for)\s+"
    r"(?:option\s+|answer\s+)?[(\"']?(?P<option>[a-j])[)\"']?(?=\s*(?:[.,;:)\n]|and\b|but\b|or\b|vs\b|$))",
    re.I,
)
"""The option that a statement before is about."""
LISTED = re.compile(
    r"(?:^|\n|[.;,]\s)[\s\-*(]*(?:option\s+|answer\s+|choice\s+)?\(?(?P<option>[a-j])\)?\s*[:.)=-]\s*[(\[]?\s*$", re.I
)
"""The option at the beginning of a line of a list of options, each with its confidence."""
UNDER_HEADS = re.compile(r"[ \t]*\|?[ \t]*:?-[-:| \t]*")
"""The line under the heads of a table."""
FIRST_PERSON = re.compile(r"\b(?:i|i'm|im|i'd|i've|i'll|my|me|we|we're|our|ich|mir|je|estoy|sono)\b", re.I)

VALUE_BEFORE = re.compile(
    rf"(?P<bound>(?:over|above|at\s+least|more\s+than|less\s+than|below|under|at\s+most|up\s+to|>=?|<=?|≥|≤)\s*)?"
    rf"(?P<first>between\s+{NUMBER}\s*{PERCENT}?\s*(?:-|to|and)\s*|{NUMBER}\s*{PERCENT}?\s*(?:-|~|to|or|,\s*(?:or|maybe|perhaps|possibly|even)(?:\s+even)?)\s*)?(?P<number>{NUMBER})\s*(?P<unit>{PERCENT}|/\s*(?P<over>\d+)|out\s+of\s+(?P<of>\d+))?(?P<plus>\+)?[)\]]?\s*[-\s]?"
    r"(?:(?:level\s+of|de|di)\s+|的)?(?:subjective\s+)?$",
    re.I,
)
