/** Data for `phrases.ts`. */
import { phraseList, wordSet } from "./words.ts";

/** Words that deny the rest of their clause. */
export const NEGATIONS = phraseList(
  "no|not|without|never|neither|nor|dont|doesnt|didnt|wont|cant|cannot|couldnt|isnt|arent|wasnt|werent|havent|hasnt|" +
    "aint|none|nothing|excluding|except|non|outside|zero|lack|free of|exempt from|instead of|rather than",
);

/** Words that deny their whole clause: "HIPAA does not apply", "PHI-free". */
export const DENIES_ALL = phraseList(
  "-free|out of scope|does not apply|do not apply|doesnt apply|dont apply|does not matter|doesnt matter|not relevant|" +
    "not applicable|not required|not needed|not involved|not stored|never stored|not processed|never processed|" +
    "not handled|never handled|not collected|never collected|not touched|never touched|not accepted|never accepted|" +
    "is exempt|are exempt",
);

/** Words that make a condition after a negation: "we never call before 8 am" means that they call. */
export const CONDITIONS = wordSet("without before unless until after twice");

/** Words that begin a clause after a comma or "and": "we take no cards, we bill patients". */
export const SUBJECTS = wordSet(
  "we were they it you i he she our your their that which who the this these agent instead only just so",
);

export const FILLERS = wordSet(
  "the a an our their your its it all any every each new some to up back out on in of and or with that which hi her these " +
    "those other more unpaid overdue incoming inbound",
);

/** Phrases that mean something else than their words: "business card". */
export const MEANING_ELSE: readonly string[] = phraseList(
  // SOX, PCI and money
  "red sox|white sox|sox fan|sox game|business card|greeting card|sim card|graphics card|video card|" +
    "card game|trading card|" +
    "flash card|report card|library card|post card|score card|punch card|payment term|" +
    // calls and texts
    "function call|function calling|api call|tool call|tool calling|system call|procedure call|" +
    "video call|zoom call|conference call|" +
    "earnings call|sales call recording|call recording|call transcript|call note|call for paper|" +
    "call for proposal|call option|" +
    "call to action|call sign|margin call|text to sql|text analysis|text editor|text file|" +
    "text generation|text classification|" +
    "free text|full text|plain text|phone case|mobile phone|cell phone|phone company|phone plan|" +
    "api callback|callback function|callback url|phone shop|phone repair|phone store|" +
    // health
    "patient customer|patient capital|patient investor|patient teacher|doctor who|car doctor|spin doctor|" +
    "doctoral|medicine hat|" +
    "veterinary hospital|veterinary clinic|veterinary practice|veterinary patient|veterinary medicine|veterinary surgeon|" +
    "veterinary surgery|veterinary doctor|animal hospital|animal clinic|vet clinic|vet hospital|pet hospital|pet clinic|" +
    // schools
    "student discount|student price|student pricing|old school|driving school|school of thought|" +
    "school bus|college football|" +
    "college basketball|college sport|high school reunion|ski school|dance school|" +
    // governments and defence
    "salvation army|self defense|self defence|defense attorney|defence lawyer|defense lawyer|navy blue|army surplus|" +
    "federal holiday|federal express|federal reserve|" +
    // systems and rights
    "user story|user interface|user guide|user manual|user experience|user documentation|" +
    "server and bartender|bartender and server|server and cook|cook and server|restaurant server|" +
    "food server|server and host|" +
    "host and server|permission slip|clearance sale|customs clearance|clearance price|clearance item|" +
    "clearance rack|rag doll|" +
    "rag rug|cleaning rag|" +
    // places
    "plaster of paris|french fry|french press|french door|danish pastry|swedish massage|german shepherd|" +
    "french bulldog|italian greyhound|dutch oven|" +
    "spanish speaking|french speaking|german speaking|italian speaking|portuguese speaking|dutch speaking|" +
    "greek yogurt|irish pub|irish coffee|spanish moss|norwegian wood|brussels sprout|bologna sandwich|french quarter|" +
    // negations that deny nothing
    "not only|not just|not merely|not simply|not solely|not limited|no matter|no doubt|no less|no code|no show|" +
    "no reply|no brainer|non profit|non bank|non human",
);
