import { phraseList } from "./words.ts";

/** Phrases whose words mean something else than they would alone: no business card pays, no Red Sox file with the SEC. */
export const MEANING_ELSE: readonly string[] = phraseList(
  // of SOX, PCI and money
  "red sox|white sox|sox fan|sox game|business card|greeting card|sim card|graphics card|video card|" +
    "card game|trading card|" +
    "flash card|report card|library card|post card|score card|punch card|payment term|" +
    // of calls and texts
    "function call|function calling|api call|tool call|tool calling|system call|procedure call|" +
    "video call|zoom call|conference call|" +
    "earnings call|sales call recording|call recording|call transcript|call note|call for paper|" +
    "call for proposal|call option|" +
    "call to action|call sign|margin call|text to sql|text analysis|text editor|text file|" +
    "text generation|text classification|" +
    "free text|full text|plain text|phone case|mobile phone|cell phone|phone company|phone plan|" +
    "api callback|callback function|callback url|phone shop|phone repair|phone store|" +
    // of health
    "patient customer|patient capital|patient investor|patient teacher|doctor who|car doctor|spin doctor|" +
    "doctoral|medicine hat|" +
    "veterinary hospital|veterinary clinic|veterinary practice|veterinary patient|veterinary medicine|veterinary surgeon|" +
    "veterinary surgery|veterinary doctor|animal hospital|animal clinic|vet clinic|vet hospital|pet hospital|pet clinic|" +
    // of schools
    "student discount|student price|student pricing|old school|driving school|school of thought|" +
    "school bus|college football|" +
    "college basketball|college sport|high school reunion|ski school|dance school|" +
    // of governments and defence
    "salvation army|self defense|self defence|defense attorney|defence lawyer|defense lawyer|navy blue|army surplus|" +
    "federal holiday|federal express|federal reserve|" +
    // of systems and rights
    "user story|user interface|user guide|user manual|user experience|user documentation|" +
    "server and bartender|bartender and server|server and cook|cook and server|restaurant server|" +
    "food server|server and host|" +
    "host and server|permission slip|clearance sale|customs clearance|clearance price|clearance item|" +
    "clearance rack|rag doll|" +
    "rag rug|cleaning rag|" +
    // of places
    "plaster of paris|french fry|french press|french door|danish pastry|swedish massage|german shepherd|" +
    "french bulldog|italian greyhound|dutch oven|" +
    "greek yogurt|irish pub|irish coffee|spanish moss|norwegian wood|brussels sprout|bologna sandwich|french quarter",
);
