r"""Words by what they do to a stop, in four languages. Nothing here belongs to a task; each entry is a kind of saying.

Every list is a regular expression over lower-case text. `\\b` is put around entries of languages that have word
boundaries; a leading or trailing `~` leaves it out.
"""

from __future__ import annotations

import re
from typing import Final

CUES: Final = (
    "stop", "negation", "gate", "open", "closed", "soft", "later", "go", "override", "silence", "released", "precedent",
    "assent", "decides", "told", "usable", "unusable", "past", "unadopted", "rejects", "vague", "hold_word", "delegates", "exempts", "trouble", "lost",
)  # fmt: skip

_EN: Final = {
    # The state of an action that must not be done, said by itself.
    "stop": r"""block(?:ed|er|ers|ing|s)|stop(?:ped|s)?|halt(?:ed)?|on hold|on ice|frozen|freeze|suspend(?:ed)?|suspension|paused|
        forbid(?:den|s)?|prohibit(?:ed|s|ion)?|banned|barred|bars|embargo(?:ed)?|off[- ]limits|out of bounds|hands off|no[- ]go|
        lock(?:ed)?(?: down| up)?|with(?:hold|held)|held(?: back| up)?|hold(?: off| back| everything)?|hold (?:it|the|that|this|all|both)|
        keep (?:\w+ ){0,4}?(?:out|off|away|back|shut|closed|dark|in)|kept (?:out|off|back|away)|stay(?:s|ing)? (?:out|off|put|shut|closed|where|in|dark|down|inside|internal|home|here|at)|
        remain(?:s)? (?:out|off|shut|closed|where|in|dark|down)|leave (?:\w+ ){0,4}?(?:out|off|alone|untouched|be|shut|closed|where)|nowhere|
        off the menu|refrain|must wait|has to wait|have to wait|waits?(?: for)?|must stay|hard[- ]stop|red light|sealed|parked|quarantined?|
        denied|deny|disallowed|refused?|reject(?:ed)?|unauthori[sz]ed|inadmissible|not happening|sits? (?:tight|still|in)|
        off until|off for now|(?:is|are|stays?|remains?|keeps?|kept|both|[=:]) (?:\w+ )?off(?=\W*$|[.,;:!)]| until| for| and| till| as)|off the table|out of the question|out of (?:reach|play)|no way|not an option|
        stay(?:s)? (?:put|whole|intact|sealed|unsent|unpaid|unsigned|untouched|unopened|as (?:it|they)|with (?:us|me)|on (?:file|the shelf|hold|ice))|remain(?:s)? (?:put|unsent|untouched|as (?:it|they)|with (?:us|me)|under wraps)|under wraps|under lock(?: and key)?|shelved|mothballed|grounded|benched|
        must (?:stay|remain|wait)|hands? off|not (?:a|one) (?:single )?\w+ (?:leaves?|goes?|moves?)|stand(?:s)? still|tabu|taboo|impermissible|not ours to|not for (?:us|you|me|release|sharing|publication|now)|interdicted|vetoed|not until|not before|
        steer clear|keep clear|disabled|not (?:usable|publishable|permitted|allowed|cleared|authori[sz]ed|approved for|for use|available to)""",
    "hold_word": r"hold|stop|block|blocker|freeze|ban|embargo|restriction|suspension|lock|veto|flag",
    "negation": r"""not|n't|n’t|cannot|no|none|nothing|never|neither|nor|nobody|no[- ]one|without|dont|cant|wont|isnt|mustn't|shan't|~n't|~n’t|false|far from|too early""",
    "gate": r"""(?:else|otherwise) (?:skip|no|not|nothing|it|drop|cancel)\w*|if not\b|falls? away|only then|and only if|the minute|the moment|until|till|unless|not before|only (?:if|once|when|after|with|on|under|upon|then)|as long as|so long as|while|once|
        before|lifted (?:when|by|once)|needs?|requires?|required|takes|conditional on|subject to|depends on|pending|
        waiting (?:for|on)|wait(?:s)? for|awaiting|provided|except with|the day|when|if|hinges on|without""",
    # The prerequisite is not there.
    "open": r"""in progress|being processed|processing|in the works|under way|unanswered|unclear|unfinished|ongoing|(?:applied|asked|wanting|wanted)(?: for)?|on (?:his|her|their|its|the) (?:desk|way)|with (?:legal|the \w+)(?=\W*$)|not (?:come|arrived|back)|to be (?:filed|signed|obtained|confirmed|given|written|sent)|would have to|needs? to|has to come|owes?|who signs|signs it|advisable|hopefully|expected|backdated|would be \w+ to (?:have|get|obtain|see)|(?:to|can|will|may) follow|desirable|scheduled|if time permits|if possible|missing|lack(?:s|ing)?|pending|outstanding|open|awaited|awaiting|waiting (?:for|on)|waits? (?:for|on)|unsigned|blank|unresolved|undecided|absent|
        yet|still|expired|lapsed|to come|tbc|tbd|overdue|needs?|needed|requires?|required|requested|until|unless|once|
        have to have|has to|must|would have|due|draft|incomplete|half|one of two|1/2|1 of 2|not|no|none|never|n't|~n't|~n’t|without|neither|cannot|before|after|when|if|come in|chas(?:e|ed|ing)|first|takes|will come|waiting|only|as long as|while|is all we|belongs to""",
    "closed": r"""(?:is|was|has been|been|are|were|got|get|gets|already|now|all|we have|have|we've|have got|considered|treated as|deemed|count(?:s|ed)? as|effectively|basically|as good as|practically) (?:\w+ ){0,2}?(?:obtained|granted|given|approved|signed(?: off)?|covered|cleared|satisfied|sorted(?: out)?|settled|received|on file|complete[d]?|confirmed|in place|done|met|authori[sz]ed|lifted|resolved|closed|ok(?:ay)?|extended|fine)|
        approved (?:earlier|already|previously|before|back|last|in)|sorted|covered|cleared|on file: yes|in hand|already (?:has|have|had)|exists|granted|status: (?:ok|done|closed|complete)|closed|resolved|satisfied|ticked|no longer (?:needed|required|necessary)|not (?:needed|required|necessary)|waived|moot""",
    # Force taken out: preference, advice, likelihood, somebody's option.
    "soft": r"""up to you|leave (?:it|that|this) to you|you decide|decide (?:for )?yoursel\w+|desirable|under (?:observation|review|discussion)|monitor(?:ed|ing)?|(?:was|were) (?:discussed|mentioned|raised)|talk of|wording question|small (?:question|point|matter|issue)|non-binding|if time permits|if preferred|would be (?:nice|good|great|better|ideal|wise|prudent|preferable|kind|polite)|nice[- ]to[- ]have|nice to|ideally|prefer(?:s|ably|red|ence)?|advis(?:ory|able|ed)|recommend(?:ed|ation|s)?|suggest(?:ed|ion|s)?|
        consider(?:ing)?|worth (?:\w+ )?\w+ing|worth a|optional(?:ly)?|caveat|bear(?:ing)? in mind|keep(?:ing)? in mind|be aware|mindful|caution|careful|concerns?|minor|low[- ](?:risk|priority|prio)|fyi|info(?:rmational)?|nit|
        might|could|perhaps|maybe|may want to|should be (?:fine|ok|okay|alright)|probably|as you see fit|your (?:judge?ment|call|discretion)|use (?:your )?(?:own )?judge?ment|at (?:your|their|our) discretion|if (?:you|possible|time|there is time|there's time|anyone|in doubt|needed|convenient|you like|someone)|
        would (?:rather|prefer|like|have liked|appreciate|welcome)|try to|where possible|if feasible|when convenient|feel free|some (?:would|say|feel|think)|reservations?|sensitiv(?:e|ity)|soft|low|note(?:d)? (?:that|the|for)|a heads[- ]up|reminder|formality|formally|technically|in theory|on paper|paperwork|not ideal|room for""",
    "later": r"""later|afterwards?|after(?: the fact| that| launch| go-live)?|subsequently|follow(?:s|ing)?[- ]?up|in parallel|meanwhile (?:we|the team) (?:chase|pursue|seek|ask)|retro(?:spective|actively|spectively)|post[- ]?(?:hoc|launch|event|go-live)|
        catch up|catches up|next (?:week|month|sprint|quarter|time)|eventually|at some point|in due course|down the line|to be (?:confirmed|checked|sorted|looked at|clarified|resolved|followed|determined|done|handled)|tbc|tbd|
        quick (?:look|check|word)|double[- ]check|check (?:with|whether|if|on|back)|look into|will (?:come|arrive|follow|be (?:obtained|sorted|added|chased|collected|filed))|on its way|in the post|any day|being (?:chased|obtained|sorted|processed|handled|looked)|folded into|
        backfill|tidy up|clean up|paper(?:ed)? over|alongside|at the same time|as we go|along the way|while (?:we|it|that|this) (?:run|go|start|proceed|is|are)|en route|revisit|after the""",
    "go": r"""go ahead|going ahead|goes ahead|proceed(?:s|ing)?|carry on|carries on|green light|go\b(?! near| nowhere| out| to)|start(?:s|ing)?|begin(?:s|ning)?|kick off|ship it|do it|run it|push it|crack on|press on|press ahead|
        as planned|on schedule|scheduled|full steam|get (?:it|this|that|them) (?:out|done|over|live)|feel free|whenever you like|all set|ready|goes? live|going live|live|going to|gonna|roll(?:s|ing)? out|action|next|todo|to do|we(?:'ll| will| are going| can| may| now)|i(?:'ll| will| am going|'m going)|please|pls|will|can|shall|today|tonight|tomorrow|mon|tue|tues|wed|thu|thurs|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday|by \d|at \d|\d\d:\d\d|this (?:morning|afternoon|evening|week)|now|asap|yes|true|fine|ok|okay|allowed|enabled|agreed in principle|=\s?true""",
    "override": r"""if (?:\w+ ){1,4}(?:is|are|gets|runs) (?:slow|down|busy|late|unavailable|short|full|tight|out|urgent)|if (?:they|he|she|the \w+) (?:press|insist|push|ask|need)\w*|in an emergency|if (?:urgent|pressed|necessary)|if (?:we|you) (?:run out|must|have to)|regardless|(?<!lapsed )(?<!expired )anyway|anyhow|either way|in any case|no matter|nonetheless we|even so|still (?:go|going|ship|send|run|publish)|even if|even without|with or without|whether or not|despite|notwithstanding|all the same we|just (?:do|go|send|run|ship|publish|open|start)|come what may|rather than wait|instead of waiting|not wait(?:ing)?|n't wait(?:ing)?|no need to (?:wait|ask|hold)|long enough|can't (?:wait|afford)|cannot (?:wait|afford)|provisional(?:ly)?|whichever|ignor(?:e|ing)|(?<!else )(?<!otherwise )skip|bypass|don't let|takes? precedence|outweighs?|overrid(?:e|den|es)|overrul(?:e|ed)|manager's discretion|own responsibility|on my say|my say-so""",
    "silence": r"""(?:leaves?|goes?|runs?|lifts?|resumes?|unblocks?|releases?|opens?|starts?|switch(?:es)?|takes? effect|payments?) (?:\w+ ){0,3}?automatically|automatically (?:\w+ )?(?:leaves?|goes?|runs?|lifts?|resumes?|unblocks?|releas\w+|opens?|starts?|switch\w*|expires?|lapses?)|(?:by|on) its own\b(?! (?:account|name|id|licen|exception|approval))|unattended|(?:job|timer|script|flag|switch|release)\b.{0,30}?\barmed|self[- ]?(?:release|destruct|expir)\w*|no need to ask again|without (?:further|another) (?:notice|asking|word|ado)|(?:nothing|no word|no answer|no reply) (?:has |have |had )?(?:come|came|arrived|been heard)\b.{0,80}?(?:take|assum|content|go|proceed|start|turn|ship|send|run)|(?:did|do|does|has|have|had)(?: not|n't) (?:come back|answer\w*|repl\w+|respond\w*|object\w*)\b.{0,50}?(?:we take|i take|assum|so (?:we|i)\b|go|fine|content)|(?:we|i)(?: shall| will|'ll)? (?:take|assume|count) (?:it|that|this|silence)\b|after (?:that|which) (?:we|the|it)\b.{0,30}?(?:assume|runs?|resume|go|export|send|start|normal)|unanswered\b.{0,40}?approv\w+|(?:is|are|stays?|remains?) (?:quiet|silent)\b|tak(?:e|en|es) (?:that|it|this|silence) as (?:a |an )?(?:yes|approval|consent|ok|agreement|go)|no (?:objection|answer|reply|response|veto|news|word)s?\b.{0,60}?(?:go|proceed|start|consent|approv|assum|means|counts|done|taken|\bwe\b|ship|send|run|release|open|publish|live|is a yes)|unless\b.{0,60}?(?:objects?|(?:writes?|comes?|gets?) back|repl(?:y|ies)|responds?|answers?|intervenes?|tells? us|hears?\b.{0,20}?(?:otherwise|back)|speaks? up|shouts?|says? no|complains?|stops? us)|if\b.{0,60}?(?:hears?\b.{0,20}?(?:nothing|otherwise)|speaks? up|no (?:one|reply|answer|objection|response|veto|word)|nobody|silence|silent|hear otherwise)|
        (?:until|till|by|before) [\w: ]{1,30}? to (?:object|veto|complain|respond|reply|speak|say)|silence (?:is|means|counts|will)|counts? as (?:a )?(?:yes|consent|approval|agree\w*)|deemed (?:granted|approved|given|accepted)|taken as (?:a )?(?:yes|read|approval|consent|agree\w*)|
        (?<!when )(?<!until )(?<!once )(?<!after )(?<!before )(?:stop|hold|block|freeze|suspension|restriction|embargo|ban|note|entry|lock|pause|this|it)\b.{0,60}?\b(?<!when it )(?<!until it )(?<!once it )(?:lapses|expires|ends|falls away|runs out|drops(?: off)?|lifts itself|is over|(?:auto\w*|self)[- ]?(?:lift|release|resum|expir)\w*)|auto(?:matically)?[- ]?(?:proceed|release|approv|resum|lift|start|unblock)\w*|on expiry|expires?: (?!none|no|never)|by itself|valid(?:ity)?\b.{0,30}?until|(?:from|after) (?:then|that|which)\b.{0,50}?(?:defaults?|go|proceed|continues?|resumes?|may|normal|start)|times? out|timeout|by default|default:? (?:on|go|proceed|allow|yes|approve)|then (?:it|we) (?:goes?|start|send|ship|run|open|publish)\b.{0,20}|default-allow""",
    "released": r"""a thing of the past|(?:lifted|withdrew|removed|dropped|cancelled|waived|rescinded) (?:it|them|that|this)\b|no longer (?:blocked|on hold|applies|apply|in force|stopped|held|a blocker|relevant|valid|stands?|an issue)|not blocked any ?more|n't blocked any ?more|unblocked|un-blocked|withdrawn|
        (?:hold|stop|block|blocker|freeze|ban|restriction|suspension|lock|embargo|flag)s?(?: (?:on|for|of|over|from)(?: \w+){1,5}?)? (?:(?:was|is|were|are|has|have|had|been|now|since|already|got) )*(?:lifted|removed|released|withdrawn|dropped|off|gone|over|cleared|waived|lapsed|cancelled|canceled|closed|resolved|rescinded|retired|obsolete|superseded|overtaken|history)|
        (?:lifted|removed|released|withdrew|dropped|cleared|waived|closed|cancelled|rescinded) (?:the|that|this|our|its|their)? ?(?:earlier |old |previous )?(?:hold|stop|block|blocker|freeze|ban|restriction|suspension|lock)|blocked by: none|blockers?: none|blocked by: no|blocked: no|hold: no|previously (?:blocked|on hold|held)|used to be (?:blocked|on hold|stopped)|was (?:blocked|on hold|stopped|held|waiting)(?: earlier| before| last| at first| initially| until)?|had been (?:blocked|on hold|stopped)|held: |superseded|all clear|overtaken""",
    "precedent": r"""same (?!ground|reason|for|goes|day|time|one|batch|answer|here|hold|rule|entity|site)\w+|(?:is|are|we're|it's|as|so|therefore|hence|→|:|,) ?covered(?! by)|^covered|comparable|analog(?:ous|y)|precedent|like (?:last|the last|in|we did|before|that time)|as (?:last|before|with|in|we did|always|usual)|(?:last|previous|prior) (?:time|year|case|spring|summer|autumn|winter|month|quarter|round|season)|worked (?:fine|well|before)|went (?:fine|well|through|live)|carries over|extends to|similar|by extension|basis:|we (?:did|had|used) (?:this|that|it|the same)|treat(?:ed)? (?:\w+ ){0,3}as|on the strength of|reus(?:e|ed|ing)|back then|approved (?:earlier|before|previously|back)|on the same""",
    "assent": r"""agree(?:d|s)?|in agreement|agreement (?:that|was)|consensus|(?:everyone|everybody)(?:'s| is| was| were| agrees?| agreed| felt| feels| thinks| saw| seems| happy| fine)|majority|outvoted|on balance|most (?:people|readers|of us|think)|over-?(?:careful|cautious)|pedantic|fussy|lawyerly|bureaucra\w+|red tape|box[- ]ticking|nitpick\w*|hardly visible|looks? (?:fine|good)|no material change|reversible|broad enough|all (?:fine|good|on board|happy|comfortable|agree\w*|of us)|harmless|nothing to do(?! with)|no action (?:needed|required)|unanim\w+|comfortable|on board|no (?:objections?|concerns?|worries|issues?|problem|one objected)|not a problem|no harm|nobody (?:objected|minded|minds|objects|disagreed|saw|sees)|low[- ]risk|no (?:real |actual )?risk|negligible|trivial|routine|straightforward|happy (?:with|to)|fine by|good to go|clean|all (?:four|five|three) say|reads well|risk:? ?low|uncontroversial|non-?issue""",
    "decides": r"""decid(?:e|es|ed|ing)|decision|decider|lift(?:s|ed)?|grant(?:s|ed|ing)?|approv(?:e|es|ed|al|er|ing)|sign(?:s|ed|ature|ing)?(?: off)?|veto|final say|final word|the call|has the say|say-?so|rul(?:e|es|ing)|authori[sz](?:e|es|ed|ation|ing)|authority|give(?:s|n)?|hers|his|theirs|'s to|to (?:give|make|decide|lift|grant|sign|rule|say|release)|owner|owns|own|owned|only|alone|nobody else|no one else|must|until|unless|once|releas(?:e|es|ed)|issue(?:s|d)?|permit(?:s|ted)?|allow(?:s|ed)?|responsible|resolver|writes|extends?|confirm(?:s|ed)?|clear(?:s|ed|ance)?|unseals?|said yes|says yes|says so|say yes|ok|yes|no|not|has|hold(?:s)?|object(?:s|ion)?|by|from|answers?|speaks|judge|rests? with|up to|sits? with|lies? with|belongs? to|comes? from""",
    "delegates": r"""(?:may|might|can|could|should|will|shall|to|free to|please) (?:\w+ )?(?:decide|judge|choose|determine|exercise)|own (?:\w+ )?(?:judge?ment|discretion|call|risk|responsibility)|your (?:call|choice|judge?ment|discretion|decision|turn)|up to (?:you|the (?:crew|shift|team|driver|duty|site|desk|agent))|(?:at|in) (?:the|your|his|her|their|our) (?:discretion|convenience)|discretion|as you (?:see|think|feel|like|wish|judge)|what (?:you think|feels|seems)|whatever (?:you|works|seems|feels)|when it feels|common sense|on the day|locally|do what you|you'll figure|nods?|i sign for|i'll (?:sign|answer|square|take)|someone|somebody|whoever""",
    "exempts": r"""(?:isn't|is not|aren't|are not|doesn't|does not|wasn't|hardly|not really|not exactly|not strictly|not technically) (?:\w+ ){0,2}?(?:an?|the|count|touch|fall|affect|cover|concern|apply|include|mention|say)\b|strictly speaking|technically|except(?: for| that)?|exception(?: is|:)|apart from|other than|only (?:thing|exception|\d+|two|three|four|one|the|a)|one thing|just (?:the|a|one|two|to|this|for|tell|call|show|read|give)|start with|at least|half[- ]?height|orally|verbally|by (?:phone|word)|over (?:the phone|coffee)|on a slide|read[- ]only|blacked out|quietly|off the record|informal\w*|preview|sneak|draft|single|sentinel|for a start|in advance|ahead of|dry run|test run|with(?:out)? (?:names|logos)|no copies|can be returned|reversible|short expiry|temporar\w+|provisional\w*""",
    "trouble": r"""(?:if|should|in case|when|whenever|in the event|unless|otherwise)\b.{0,70}?\b(?:late|missing|outstanding|absent|refus\w+|press\w*|insist\w*|ask(?:s|ing)?|push\w*|urgent|emergency|tears|cry|cries|ill|sick|unavailable|unreachable|slow\w*|full|short|tight|complain\w*|angry|call(?:s)?|rings?|no (?:answer|reply|news|word|response)|nothing|not (?:back|here|in|there|come|arrived|answered|fit|enough)|n't (?:back|here|in|there|come|arrive\w*|answer\w*)|fail\w*|delayed?|run(?:s)? out|object\w*|allows?|time)""",
    "lost": r"""dead|gone|closed|struck|wrapped|spent|exhausted|used up|suspended|withdrawn|withdrew|cancelled|canceled|given (?:back|up|notice|away)|handed back|returned|reserved|belongs? to|booked (?:out|up)|broken|out of (?:order|stock|service)|unavailable|not (?:available|possible|an option|for (?:us|our|you)|to be|usable|needed|wanted|used|allowed|permitted|offered)|no longer|no need|(?:can't|cannot|couldn't) (?:be|go|do|use|host|take|serve|run)\w*|(?:is|are) off(?! (?:the shelf|to))|stood down|dropped|drop(?:s)? out|skip(?:ped)?|scrapped|rejected|refused|declined|forbidden|blocked|frozen|stopped|hands off|off[- ]limits|switched off|out of the question|no use|useless|pointless|too (?:much|slow|late|thin|weak|little|coarse|small|expensive|dull)|let to|on loan|lent|went to|cut from|paint shop|sold out|falls? (?:away|through)|fell through|sold|not (?:worth|enough)|taken (?:off|down)|abandoned|discontinued|stopped|expired|lapsed|abolished|(?:in )?for repair|under repair|no longer ours|superfluous|redundant|was (?:considered|discussed|an option)|were (?:considered|discussed)|costs? (?:extra|a|too)|a pain|boring""",
    "told": r"""fyi|cc|cc'?d|in cc|for (?:information|info|awareness|the record)|informed?|inform|keep (?:\w+ )?(?:posted|informed|in the loop|updated)|in the loop|gets? (?:a|the) (?:copy|summary|note|mail|report|update)|a view|a look|wanted|(?:sort|check|clear|talk|speak|sync)\w* .{0,30}w(?:ith|/)|notif(?:y|ied)|knows?|let (?:\w+ ){0,4}know|(?:told|tell|telling)(?= (?!us|me|you))|aware|awareness|consult(?:ed|ation)?|input|optional|no action|copied|heads[- ]up|courtesy|briefed|debrief|updated?|thanks?|on (?:leave|holiday|vacation)|called|phoned|mention(?:ed)? to|report(?:ed|s)? to|might like|to see it|to have a look|as a contact|regards|sent by|distribution|recipients?|carbon|loop (?:\w+ )?in|after the fact|if (?:available|around|reachable|needed|in doubt|you like)""",
    "usable": r"""instead|meanwhile|in the meantime|for now|until then|use|can|may|might|could|ok|okay|fine|allowed|permitted|available|free|ready|go|yes|please|pls|send|ship|publish|only|alternative(?:ly)?|fallback|option|possible|welcome|approved|today|now|continue|build|take|run|do|work|gets?|offer|provide|in its place|rather|at once|right away|as usual|safe|share|give|route|pay|buy|open|good|true|sure|stick|gladly|monday|tuesday|wednesday|thursday|friday|tomorrow|will|up to|were|was|keep|switch|fall back|serve|serves|covers""",
    "unusable": r"""not|n't|~n't|~n’t|no|none|never|nobody|nothing|boring|drop(?:ped|s)?|skip(?:ped)?|cancel(?:led|ed)?|gone|used up|exhausted|out of stock|sold out|unavailable|scrap(?:ped)?|stood down|discontinued|already|done|closed|(?:would |will |'d )?costs? (?:a|an|us|too|time)|a pain|awkward|(?:was|were) discussed|too (?:slow|thin|weak|little|late|coarse|vague|small|basic|expensive)|useless|pointless|discarded|ruled out|off the table|rejected|unnecessary|overkill|separate(?:ly)?|attached|attachment|see|elsewhere|another (?:team|stream|ticket)|fallback: none|won't do|isn't enough|not enough|would (?:delay|cost|slow)|waste|only if|if (?:refused|that fails|they refuse|rejected|it fails|denied|necessary)|in case|plan b|last resort|withdrawn|retired|pleasant|unattractive|clumsy|dull|weak|nobody wants|no longer""",
    "past": r"""was|were|had|did|last (?:year|month|week|spring|summer|autumn|winter|quarter|time)|earlier|before|in (?:january|february|march|april|may|june|july|august|september|october|november|december|20\d\d)|used to|previously|went|got|signed|meant to|supposed to|wanted to|asked|hoped|would like(?:d)?|pushed|tempt\w*|keeps? asking""",
    "unadopted": r"""(?:he|she|they|someone|somebody|some|sales|marketing|people|the (?:room|client|customer|vendor|team|partner|contractor|foreman|manager|group|others?)) (?:think|thinks|thought|says?|said|feels?|felt|want(?:s|ed)?|believes?|argued?|suggests?|suggested|propose[sd]?|asked|asks|ask|leaned|would|hopes?|claims?|claimed|wrote|insists?|reckons?|pushed|keeps?)|\w+ (?:thinks?|feels?(?! free)|felt|believes?|reckons?)|[\"']feels?[\"']|view was|(?:read|heard|hear) (?:it|that|[\"“'])|wondered|opinion|in (?:his|her|their) view|according to|apparently|i (?:think|feel|believe|guess|suppose|reckon)|imo|imho|personally|rumou?r|was (?:floated|suggested|proposed|mooted)|idea of|tempting|requests?|wishes|whoever""",
    "rejects": r"""(?:is|are|was|that's|it's)(?: not|n't|n’t) (?:\w+ ){0,2}?(?:one|it|this|ours)|(?:is|are|was|that's|it's|does|do|did|would|will|counts?)(?: not|n't|n’t) (?:\w+ ){0,3}?(?:the same|enough|cover\w*|apply|applies|extend|count|carry|transfer|change|valid|a precedent|help|matter|reach|include|name|good|permission|approval|decisive|settle|bind|stretch|lift|authori\w+|mean|stand|among|sufficient|replace)|^(?:(?:but|and|no)\W+)?(?:it|that|this|they)(?:(?: is| are| was| does) not|'s not|'re not| isn't| aren't| wasn't| doesn't)\W*$|changes nothing|not (?:one|this one|for this|the same|enough|an? \w+)|another (?:case|matter|batch|site|entity)|different (?:case|matter|batch|site|change|entity|ticket)|no substitute|beside the point|not adopted|overruled|counts for nothing|not carry|neither (?:does|is)|nothing to do with|not how|cannot be (?:re)?used|still stands|(?:another|a different) (?:one|thing|story)""",
    "vague": r"""something|some(?:one|body)|somewhere|some (?:sort|kind|approval|check|review|paperwork|issue|question|point|detail|form|clearance|permission)|stuff|thing\b|things|etc|certain|various|the usual|as usual|formalit\w+|appropriate|necessary|relevant|applicable|an? (?:issue|question|matter|check|formality|point|detail|concern|bit)|loose ends?|outstanding (?:points?|items?|matters?|questions?)|open (?:points?|items?|matters?|questions?)|compliance (?:topic|thing|stuff|point)|legal (?:topic|thing|stuff)|idk""",
}  # fmt: skip

_ES: Final = {
    "stop": r"""bloquead[oa]s?|bloqueo|bloquea|prohibid[oa]s?|prohíbe|suspendid[oa]s?|parad[oa]s?|detenid[oa]s?|pausad[oa]s?|en pausa|en espera|congelad[oa]s?|retenid[oa]s?|paralizad[oa]s?|vetad[oa]s?|no (?:se )?(?:permit\w+|autoriz\w+|pued\w+|pod\w+|deb\w+|hac\w+|hag\w+|env\w+|public\w+|export\w+|compart\w+|toc\w+|procede|subir|abr\w+|pag\w+|entreg\w+|activ\w+|compr\w+|borr\w+|mand\w+|us\w+|va|van|sale|salen|está permitid\w+|hay que)|sin activarse|nada de|alto|quiet[oa]s?|frenad[oa]s?|fuera de|queda fuera|ni se|ni""",
    "negation": r"no|ni|nunca|jamás|nadie|nada|ningún\w*|sin|tampoco|false",
    "gate": r"hasta(?: que| tener| contar)?|mientras(?! tanto)(?: no)?|solo (?:si|cuando|con|tras)|sólo (?:si|cuando|con|tras)|únicamente|salvo|a menos que|sin|antes de|en cuanto|cuando|si|requiere|necesita|pendiente de|a la espera|depende",
    "open": r"falta\w*|pendiente\w*|todavía|aún|sin|no (?:hay|ha\w*|tenemos|existe|consta|está|se|lleg\w+|nos)|espera\w*|hasta|mientras|caducad\w+|vencid\w+|requiere|necesita\w*|incomplet\w+|no|ni|solo|llegará|vendrá|tras|después",
    "closed": r"ya (?:está|tenemos|hay|consta|fue|se ha) ?\w*|ampara\w*|cubiert[oa]s?|cubre|vale también|se entiende|concedid[oa]s?|aprobad[oa]s?|obtenid[oa]s?|firmad[oa]s?|resuelt[oa]s?|zanjad[oa]s?|sirve",
    "soft": r"convendría|sería (?:bueno|mejor|ideal|conveniente|deseable)|recomenda\w+|sugier\w+|sugerencia|aconseja\w+|a ser posible|si es posible|preferi\w+|idealmente|opcional|quizás?|tal vez|podría\w*|ojo|tener en cuenta|cautela|prudencia|conviene|a criterio|formalidad|trámite",
    "later": r"después|luego|más adelante|más tarde|a posteriori|posteriormente|en paralelo|ya (?:le|lo|la|se|nos|os|les) \w+(?:emos|án|á|aremos|remos)|próxima semana|semana que viene|semana próxima|cuando (?:vuelva|pueda|haya tiempo)|a la vuelta|regulariza\w*|seguimiento|al final|entretanto (?:se )?pid\w+|tramitará|revisa\w+|comprobar\w*|llegará|vendrá",
    "go": r"adelante|proced\w+|empe\w+|comen\w+|arranc\w+|inici\w+|lanz\w+|envi\w+|mand\w+|public\w+|export\w+|sub\w+|se (?:hace|hará|envía|enviará|publica|publicará|exporta|abre|paga|activa)|hacemos|hoy|mañana|esta (?:noche|tarde|mañana|semana)|lunes|martes|miércoles|jueves|viernes|ejecut\w+|prepar\w+|siguiente|podemos|sí",
    "override": r"aun así|de todos modos|de todas formas|igualmente|en cualquier caso|pase lo que pase|aunque no|con o sin|sin esperar|no (?:podemos )?esperar|no hace falta (?:esperar|pedir)|porque el plazo",
    "silence": r"si (?:nadie|no)\b.{0,40}?(?:opone|responde|contesta|dice|objeta|hay|recib\w+|llega)|silencio|se entenderá|por defecto|caduca|vence el (?:bloqueo|veto)|automátic\w+|salvo objeción|a partir de entonces",
    "released": r"ya no (?:está|rige|aplica|hay|se aplica)|levantad[oa]s?|se (?:ha )?levant\w+|retirad[oa]s?|desbloquead[oa]s?|anulad[oa]s?|sin efecto|estaba (?:bloquead|parad)\w+",
    "precedent": r"igual que|lo mismo|mismo caso|como (?:en|el|la|ya|entonces|antes|siempre)|precedente|(?:año|verano|invierno|mes|vez) pasad[oa]|la otra vez|aquella|aquel|comparable|similar|parecid[oa]|análog\w+|ampara\w*",
    "assent": r"acuerdo|consenso|todos|nadie (?:se opuso|puso|objet\w+|protest\w+)|unánime\w*|inofensiv\w+|bajo riesgo|riesgo bajo|sin riesgo|ni una queja|tranquil\w+|conformes?",
    "decides": r"decid\w+|decisión|aprueb\w+|aprob\w+|autoriz\w+|firma\w*|levant\w+|conced\w+|otorg\w+|corresponde|competen\w+|responsable|solo|sólo|únic\w+|tiene la|depende de|en manos|hasta que|mientras|da el|veto|dict\w+",
    "told": r"en copia|cc|informad[oa]|informar|informamos|avisa\w*|para (?:su )?(?:información|conocimiento)|al tanto|al corriente|parte al|enterad[oa]|consultad[oa]|de vacaciones|comunica\w+|notific\w+",
    "usable": r"se puede\w*|pued\w+|podé?is|podemos|podéis|permit\w+|sí|en su lugar|mientras tanto|entretanto|alternativa|disponible|usa\w*|utiliza\w*|adelante|hoy|envi\w+|public\w+|publicar|se us\w+|pago|pagar|válid\w+|autorizad\w+",
    "unusable": r"no|descart\w+|se cae|sobra|innecesari\w+|agotad\w+|ya no|tampoco|olvid\w+|cancelad\w+|anulad\w+|sin|ni|demasiado|aparte",
    "past": r"pasad[oa]|entonces|antes|trabajamos|fue|era|hicimos|estaba|había|hubo",
    "unadopted": r"opina\w*|cree\w*|dice\w*|según (?:ventas|el|la|los)|a juicio|quería\w*|pide\w*|propuso|sugirió",
    "rejects": r"no (?:vale|cuenta|sirve|cubre|es (?:lo mismo|una?|esta|este)|se extiende|ampara|basta|alcanza|aplica)|otro (?:caso|asunto)|otra cosa|distint[oa]",
    "vague": r"algo|alguien|algun[oa]s?|cosas?|lo de|tema|papeleo|trámites?|cuestiones|lo que (?:haga falta|proceda)",
    "hold_word": r"bloqueo|veto|pausa|suspensión",
    "delegates": r"(?:puede|pueden|podrá\w*) decidir|a (?:su|tu|vuestro) criterio|juicio propio|quien quiera|como (?:veáis|veas|quieras)|sentido común",
    "exempts": r"no es (?:un|una)|salvo|excepto|solo (?:un|una|el|la|los|las)|por teléfono|de palabra|oralmente|en confianza|provisional\w*|borrador",
    "trouble": r"(?:si|en caso de)\b.{0,60}?\b(?:insist\w*|tarda\w*|falta\w*|no (?:llega|contesta|responde|hay)|urg\w+|niega\w*|pide\w*|llama\w*)",
    "lost": r"descart\w+|se cae|sobra|agotad\w+|ya no|cancelad\w+|anulad\w+|retirad\w+|cerrad\w+|demasiado|no (?:hace falta|sirve|se puede|está disponible)",
}  # fmt: skip

_DE: Final = {
    "stop": r"""gesperrt|sperre|sperren|blockiert|gestoppt|stopp?|untersagt|verboten|ausgesetzt|angehalten|eingefroren|pausiert|zurückgehalten|einbehalten|auf eis|ruht|ruhen|bleib\w* (?:\w+ ){0,4}?(?:in der|im|bei uns|stehen|verpackt|liegen|draußen|aus|zu|unter verschluss|unberührt|gesperrt)|nicht (?:erlaubt|gestattet|zulässig|zugelassen|freigegeben|genehmigt|verwend\w+|veröffentlich\w+|versend\w+|verschick\w+|hochlad\w+|export\w+|öffn\w+|lösch\w+|aktivier\w+|weitergeb\w+|heraus\w*|raus|an|in|eingesetzt|gestartet|begonnen|ausgezahlt|gekauft|los|geteilt|geschickt)|darf\w* (?:\w+ ){0,6}?(?:nicht|kein\w*|weder)|dürfen (?:\w+ ){0,6}?(?:nicht|kein\w*|weder)|kein\w* (?:export|versand|veröffentlichung|upload|rollout|zugang|zugriff|auszahlung|freigabe für)|finger weg|hände weg|weder""",
    "negation": r"nicht|kein\w*|nie|niemals|niemand|nichts|ohne|weder|noch nicht|false",
    "gate": r"bis(?: zur| zum| die| der| das)?|solange|erst (?:wenn|nach|mit|dann|ab)|nur (?:mit|wenn|nach|bei|unter)|es sei denn|bevor|ehe|vorher|sobald|setzt \w+ voraus|vorausgesetzt|braucht|benötigt|erfordert|wartet auf|warten auf|hängt|wenn|ohne|zuerst",
    "open": r"fehl\w+|steh\w+ (?:\w+ ){0,4}?aus|aussteh\w*|ausständig|offen|noch|nicht|kein\w*|ohne|solange|bis|erst|wart\w+|abgelaufen|nachgereicht|nach|nachträglich|brauch\w+|benötig\w+|erforderlich|kommt|aus",
    "closed": r"liegt vor|ist (?:da|erteilt|erledigt|geklärt|durch)|erteilt|gleichkommt|gilt (?:auch|als|mit)|abgedeckt|gedeckt|genehmigt|erledigt|vorhanden|bereits|schon",
    "soft": r"wäre (?:schön|gut|besser|wünschenswert|ideal|nett)|idealerweise|möglichst|empf\w+l\w*|ratsam|könnte\w*|eventuell|vielleicht|gegebenenfalls|ggf|sollte\w*|optional|hinweis|beachten|im hinterkopf|nach ermessen|formal|formsache|bedenken|bestimmt|wohl|wenn möglich|bei gelegenheit|lieber",
    "later": r"später|danach|nachher|nachträglich|im nachgang|nachgereicht|nachreichen|reichen (?:wir )?\w* ?nach|nachhol\w+|parallel|anschließend|hinterher|nächste (?:woche|n)|demnächst|irgendwann|nach (?:ihrem|seinem|dem|der) (?:urlaub|start|launch|livegang|versand)|unterschreib\w+ (?:\w+ ){0,5}?nach|kommt (?:\w+ )?noch|wird (?:noch )?geklärt|klären (?:wir )?|prüfen (?:wir )?|folgt|nach\.",
    "go": r"los|starten|start|gestartet|beginn\w+|wir (?:bauen|ziehen|senden|schicken|machen|veröffentlichen|geben|laden|öffnen|löschen|starten|nehmen|zahlen|gehen|exportieren|fahren)|wird (?:\w+ ){0,5}?(?:aktiviert|gestartet|veröffentlicht|verschickt|versendet|hochgeladen|exportiert|gelöscht|geöffnet|ausgezahlt|eingebaut|geliefert)|werden (?:\w+ ){0,5}?(?:aktiviert|gestartet|veröffentlicht|verschickt|versendet|hochgeladen|exportiert|gelöscht|geöffnet|ausgezahlt|eingebaut|geliefert)|läuft|heute|morgen|montag|dienstag|mittwoch|donnerstag|freitag|vorbereiten|bitte|freie bahn|kann losgehen|durchziehen|weiter|wie geplant",
    "override": r"trotzdem|dennoch|ungeachtet|auf jeden fall|in jedem fall|so oder so|egal|auch ohne|nicht warten|ohne (?:auf|zu warten)|unabhängig davon",
    "silence": r"wenn (?:niemand|keine?r?|bis)\b.{0,50}?(?:widerspr\w+|meldet|hör\w*|einw\w+|rückmeldung)|schweigen|gilt als|stillschweigend|automatisch|läuft (?:\w+ ){0,4}?ab|entfällt die sperre|standardmäßig|ohne widerspruch|ab dann|hören wir nichts",
    "released": r"nicht mehr (?:gesperrt|gültig|nötig|relevant|blockiert)|aufgehoben|entsperrt|weggefallen|zurückgezogen|hinfällig|war (?:gesperrt|blockiert)",
    "precedent": r"wie (?:beim|bei|letzt\w+|im|damals|schon|immer|gehabt)|genauso|ebenso wie|gleiche\w*|selbe\w*|damals|letzte\w* (?:mal|jahr|monat|woche)|vergleichbar|analog|gleichkommt|präzedenz\w*|entspricht",
    "assent": r"einig\w*|einigkeit|konsens|alle (?:finden|sind|waren|einverstanden)|harmlos|niemand (?:hat|hatte) (?:einwände|bedenken|widersprochen)|unkritisch|geringes? risiko|einstimmig|unbedenklich|keine (?:einwände|bedenken)",
    "decides": r"entscheid\w+|entscheidung|genehmig\w+|freigeb\w+|freigabe|gibt \w* ?frei|freigibt|erteil\w+|zuständig|verantwortlich|aufheb\w+|hebt|unterschr\w+|unterzeichn\w+|zustimm\w+|allein|nur|befugt|obliegt|liegt bei|sagt|veto|muss",
    "told": r"in kopie|cc|zur (?:info|kenntnis|information)|informier\w+|im bilde|bescheid|benachrichtig\w+|auf dem laufenden|unterrichtet|ohne (?:handlungs|aktion)\w*|konsultiert|in kenntnis|urlaub (?:bis|und)",
    "usable": r"stattdessen|kann|können|darf|dürfen|erlaubt|zulässig|verfügbar|zur verfügung|nutz\w+|verwend\w+|inzwischen|bis dahin|solange|einstweilen|alternativ\w*|bitte|sofort|heute|frei|möglich|ausweich\w*|okay|ok|weiterhin|gern\w*|geht",
    "unusable": r"nicht|kein\w*|entfällt|gestrichen|weggelassen|verzicht\w+|unnötig|überflüssig|ausverkauft|aufgebraucht|lohnt|erst wenn|nur wenn|separat|statt der|zu (?:langsam|dünn|wenig|grob)|wäre",
    "past": r"war|waren|wurde|wurden|hatte|hatten|damals|letzte\w*|vorige\w*|früher|bisher",
    "unadopted": r"meint\w*|findet|finden|glaubt|glauben|laut|nach ansicht|hätte gern|möchte|wünscht|vorschlag|fragt",
    "rejects": r"gilt (?:hier |dafür |dort )?nicht|zählt (?:hier )?nicht|reicht (?:hier |dafür )?nicht|nicht übertrag\w+|anderer? (?:fall|vorgang|sache)|deckt (?:\w+ ){0,4}?nicht|nichts zu tun|ändert nichts|ersetzt",
    "vague": r"irgend\w*|etwas|jemand\w*|formalit\w+|sache|dinge|thema|papierkram|übliche\w*|noch was",
    "hold_word": r"sperre|stopp|hold|veto|aussetzung",
    "delegates": r"(?:kann|können|darf|dürfen|soll) (?:\w+ ){0,3}?(?:entscheiden|abwägen)|nach eigenem ermessen|eigene\w* (?:ermessen|verantwortung)|wie (?:ihr|sie|du) (?:meint|wollt|möchtet)|auf (?:meine|eigene) (?:kappe|verantwortung)",
    "exempts": r"ist kein\w*|ausnahme|außer|nur (?:die|der|das|ein\w*|zwei|drei)|mündlich|telefonisch|am telefon|unter der hand|vorab|vorläufig|entwurf|zählt nicht als",
    "trouble": r"(?:falls|wenn|sollte\w*)\b.{0,60}?\b(?:drängt|drängen|fehl\w+|nicht (?:da|rechtzeitig|kommt|vorliegt|antwortet)|eilig|nachfragt|anruft|besteht|weigert|reicht)",
    "lost": r"entfällt|gestrichen|weggefallen|unnötig|überflüssig|ausverkauft|aufgebraucht|abgesagt|gesperrt|nicht (?:mehr|verfügbar|nötig|möglich|vorgesehen)|zu (?:langsam|dünn|wenig|grob|aufwendig)|verzicht\w+|kein\w*",
}  # fmt: skip

_ZH: Final = {
    "stop": r"禁止|不得|不能|不可以?|不许|不准|不允许|暂停|暂缓|暂不|冻结|停止|叫停|搁置|扣住|封存|先别|别(?!人|的)|勿|不要|不予|不会|停着|不发|不导出|不上传|不公开|不付|不动|不开|不启用|不安排|不送|不删|拦下|锁定|未获准|不批准?前|阻断|受阻|卡住",
    "negation": r"不|没有?|未|无|别|勿|莫",
    "gate": r"在.{1,20}之前|之前|以前|直到|直至|除非|只有|才能?|须|必须|需要?|要等|等到|等待|待|经.{1,12}后|如未|拿到.{0,12}后|获.{0,10}后|凭|若无|没有.{1,12}就|前",
    "open": r"尚未|还没|未|没有|没|缺少?|尚缺|待|等|未取得|未获|未签|未批|仍无|无|过期|之后|补|需要?|才|前|到了|还要|还差|差",
    "closed": r"已(?:经)?(?:取得|获批|批准|签|通过|拿到|解决|完成|覆盖|确认|同意)|视同|视为|等同|可以沿用|算是有了|已覆盖|适用于此",
    "soft": r"最好|建议|可考虑|考虑|如有可能|尽量|希望|倾向|可能的话|提醒|注意一下|仅供参考|供参考|不妨|也许|或许|应该没|酌情|自行判断|看情况|顺便|走个形式|手续",
    "later": r"之后再?|事后|随后|后续|后补|补办|补签|补发|以后|稍后|回头|跟进|同时(?:申请|办理|推进)|并行|边.{1,6}边|再补|再说|下周再?|到时候|到时|再确认|再核",
    "go": r"开始|照常|继续(?:推进|进行|执行)|执行|推进|启动|安排|今天|今晚|明天|周[一二三四五六日天前]|上午|下午|把.{1,20}(?:发|传|导|删|开|付|送)|直接|可以(?:发|传|导出|开始|推进|先)|马上|立即|接着|准备|上线|开通|放行(?!经理)",
    "override": r"(?<!可以)(?<!可)照常|照样|还是先|不管|无论|即使|反正|不等|不用等|无需等|硬上|还是要|先上",
    "silence": r"没有?(?:人)?(?:反对|异议|回复)|无(?:人)?(?:异议|反对|回复)|逾期|默认|视为同意|自动(?:解除|放行|恢复|失效)|到期|失效后|未回复即",
    "released": r"已解除|解除了|已取消|不再(?:受限|适用|需要|冻结|禁止)|撤销了|已撤|恢复正常|已放行|放开了",
    "precedent": r"上次|以前也|去年|同样的?(?:情况|做法|理由)|先例|惯例|照.{1,10}办|参照|类似|一样|沿用|曾经|之前也",
    "assent": r"一致(?:认为|同意)?|大家(?:都)?(?:认为|觉得|同意)|没人反对|无人反对|风险(?:很|较|极)?低|没什么风险|无害|都说没问题|没问题|达成共识",
    "decides": r"决定|批准|审批|签字|签署|同意|授权|说了算|解除|裁定|负责(?!解释)|拍板|只有|才能|由|确认|出具|放行(?!经理)|批|权",
    "told": r"抄送|知会|通知|告知|知情|报备|解释|说明情况|汇报|备案|知悉|咨询|顺带告诉",
    "usable": r"可以?|可先|可用|允许|改用|先用|先发|先给|使用|代替|替代|备选|目前可|能用|照发|采用|现可|继续",
    "unusable": r"不|没|别|取消|就不|算了|用完|放弃|免得|没必要|太慢|不够",
    "past": r"曾|上次|去年|以前|过去|当时|已发",
    "unadopted": r"有人|认为|觉得|据说|听说|希望|提议|要求|想",
    "rejects": r"不(?:适用|算|能替代|代表|等于|包括|涵盖|够)|另一回事|无效|不能作为|与此无关|不同",
    "vague": r"某些|有些|一些|相关(?!.{0,4}许可)|那个|什么的|手续|流程|等等|有点",
    "hold_word": r"冻结令|禁令|暂停",
    "delegates": r"自行(?:判断|决定|处理)|酌情|看情况|由.{1,8}自行|现场决定",
    "exempts": r"不算|除了|例外|口头|电话里|私下|先给一部分|仅限|草稿|临时",
    "trouble": r"(?:如果|若|要是|万一).{0,20}?(?:催|急|没有?回复|没来|不够|拒绝|投诉|坚持)",
    "lost": r"取消|放弃|算了|用完|不用了|没必要|不再|停用|不够|太慢|不发了|作废|关闭|撤",
}  # fmt: skip


def _compiled(cues: dict[str, str], bounded: bool) -> dict[str, re.Pattern[str]]:
    out = {}
    for name, text in cues.items():
        entries = re.sub(r"\n\s*", "", text)
        if not bounded:
            out[name] = re.compile(entries)
            continue
        # A `~` entry may stand inside a word; it cannot be split from the others by `|` alone, so it is taken out.
        inside = re.findall(r"(?:^|\|)~([^|~]+)(?=\||$)", entries)
        whole = re.sub(r"(?:^|(?<=\|))~[^|~]+(?:\||$)", "", entries).strip("|")
        joined = rf"(?<![\w'’])(?<!non-)(?:{whole})(?![\w])"
        out[name] = re.compile("|".join([joined, *inside]))
    return out


LEXICON: Final = {
    "en": _compiled(_EN, True),
    "es": _compiled(_ES, True),
    "de": _compiled(_DE, True),
    "zh": _compiled(_ZH, False),
}

_TELLS: Final = {
    "es": re.compile(r"\b(?:el|la|los|las|que|por|para|con|del|una?|se|está|más|pero|como|hasta|es|al|lo|no hay|sin|ya|hoy)\b|[ñ¿¡]|ción\b|ado\b"),
    "de": re.compile(r"\b(?:der|die|das|und|ist|nicht|ein|eine|wird|mit|für|auf|den|dem|zu|noch|wir|bis|von|kein|keine|aber|im|zur|werden|bitte)\b|[äöüß]"),
    "en": re.compile(r"\b(?:the|is|and|to|of|for|not|with|until|we|be|on|it|this|by|that|are|has|no|in)\b"),
}  # fmt: skip


def language_of(text: str) -> str:
    """Return the language a text is mostly in: en, es, de or zh."""
    letters = [c for c in text if c.isalpha()]
    if sum("\u3400" <= c <= "\u9fff" for c in letters) * 4 > len(letters) > 0:
        return "zh"
    counts = {language: len(tell.findall(text.lower())) for language, tell in _TELLS.items()}
    best = max(counts, key=lambda language: (counts[language], language == "en"))
    return best if counts[best] > counts["en"] else "en"
