/** Where a law applies: a pack with a home is not recommended to somebody who names only other places. */
export type Home = "us" | "us-ca" | "eu";

/** What leads to a pack. Phrases are singular, lower case, words apart. */
export interface PackSignals {
  readonly pack: string;
  /** One clause that completes "… means ". */
  readonly means: string;
  readonly home?: Home;
  /** Phrases that name the law itself: they count wherever the customer is. */
  readonly names: readonly string[];
  readonly phrases: readonly string[];
  readonly data_classes: readonly string[];
  /** Action types of tools, exact or a prefix ending in a dot. */
  readonly actions: readonly string[];
}

const list = (text: string): readonly string[] => text.split("|").map((phrase) => phrase.trim());

const CALIFORNIA = list(
  "california|californian|los angeles|san francisco|san diego|sacramento|silicon valley|bay area",
);

/** What leads to each pack that quickstart does not switch on by itself, in the order in which they are recommended. */
export const PACK_SIGNALS: readonly PackSignals[] = [
  {
    pack: "hipaa",
    means: "protected health information",
    home: "us",
    names: list("hipaa|phi|protected health information"),
    phrases: list(
      "healthcare|health care|hospital|clinic|patient|medical|medicine|telehealth|telemedicine|pharmacy|pharmacist|physician|" +
        "doctor|nurse|dental|dentist|therapist|diagnosis|prescription|health insurance|health plan|health record|ehr|emr|" +
        "electronic health record|lab result|medicare|medicaid|care provider|radiology|health insurer|health system|mental health|" +
        "behavioral health|therapy|psychologist|psychiatrist|psychiatric|nursing|hospice|home care|urgent care|pediatric|" +
        "pediatrician|paediatric|oncology|cardiology|dermatology|dialysis|surgeon|surgery|optometrist|orthodontist|" +
        "clinical trial|prior authorization",
    ),
    data_classes: ["phi"],
    actions: [],
  },
  {
    pack: "tcpa",
    means: "calls or texts to people in the United States",
    home: "us",
    names: list("tcpa|do not call|dnc|robocall"),
    phrases: list(
      "call centre|call center|callcentre|callcenter|contact centre|contact center|phone call|telephone|telemarketing|" +
        "outbound call|outbound calling|cold call|cold calling|automated calling|calling customer|calling consumer|calling client|" +
        "calling patient|calling lead|calling prospect|calling people|calling member|calling borrower|calling debtor|dialer|dialler|autodialer|voice agent|ai voice|voice bot|voicebot|ivr|sms|" +
        "text message|texting|ringless voicemail|phone agent|call customer|call patient|call lead",
    ),
    data_classes: [],
    actions: ["communication.call", "communication.sms"],
  },
  {
    pack: "ccpa",
    means: "personal information of Californian consumers",
    home: "us-ca",
    names: list("ccpa|cpra|california consumer privacy act"),
    phrases: CALIFORNIA,
    data_classes: [],
    actions: [],
  },
  {
    pack: "pci",
    means: "payment cards",
    names: list("pci|pci dss|cardholder"),
    phrases: list(
      "billing|payment|credit card|debit card|card number|checkout|chargeback|point of sale|e commerce|ecommerce|" +
        "online shop|online store|webshop|merchant|subscription fee|refund",
    ),
    data_classes: ["chd", "sad"],
    actions: ["payment.charge", "payment.refund"],
  },
  {
    pack: "gdpr",
    means: "personal data of people in the European Economic Area",
    home: "eu",
    names: list("gdpr|dsgvo|rgpd|data subject"),
    phrases: list("eu|eea|europe|european|european union"),
    data_classes: [],
    actions: [],
  },
  {
    pack: "ferpa",
    means: "education records",
    home: "us",
    names: list("ferpa|education record"),
    phrases: list(
      "school|kindergarten|preschool|university|college|student|k 12|campus|higher education|registrar|academic record|school district|pupil|edtech",
    ),
    data_classes: ["education_record"],
    actions: [],
  },
  {
    pack: "sox",
    means: "financial reporting of a listed company",
    names: list("sox|sarbanes oxley|sec filing|10 k|10 q"),
    phrases: list(
      "financial reporting|financial report|financial statement|general ledger|journal entry|public company|listed company|" +
        "publicly traded|accounting|bookkeeping|month end close|quarterly close|earnings|accounts payable|accounts receivable",
    ),
    data_classes: ["financial_reporting"],
    actions: ["finance."],
  },
  {
    pack: "ai",
    means: "decisions about people by a model, or the training of one",
    names: list("eu ai act|ai act|nist ai rmf|ai rmf|high risk ai"),
    phrases: list(
      "automated decision|credit scoring|credit decision|loan approval|underwriting|recruiting|recruitment|hiring|" +
        "candidate screening|cv screening|tenant screening|exam grading|grading exam|applicant|resume screening|approve loan|deny loan|loan application|loan decision|mortgage|lending|insurance claim|claim handling|" +
        "machine learning|training model|eligibility|biometric|model training|train model|fine tuning|" +
        "insurance claim decision|benefit decision|chatbot|virtual assistant",
    ),
    data_classes: [],
    actions: ["model."],
  },
  {
    pack: "cmmc",
    means: "controlled unclassified information of defence contracts",
    home: "us",
    names: list("cmmc|cui|controlled unclassified information|dfars|nist 800 171"),
    phrases: list(
      "defense contractor|defence contractor|itar|export controlled|dod|department of defense|defense industrial base|military contract",
    ),
    data_classes: ["cui"],
    actions: [],
  },
  {
    pack: "fedramp",
    means: "data of the federal government in a cloud system",
    home: "us",
    names: list("fedramp|govcloud"),
    phrases: list(
      "federal agency|federal government|government cloud|federal data|federal customer|government agency|us government",
    ),
    data_classes: ["federal"],
    actions: [],
  },
  {
    pack: "csf",
    means: "actions on systems and infrastructure",
    names: list("nist csf|iso 27001|cybersecurity framework"),
    phrases: list(
      "infrastructure|devops|dev ops|sre|kubernetes|deployment|deploy|deploying|production system|production database|server|terraform|cloud account|" +
        "incident response|change management|it operation|sysadmin|ci cd",
    ),
    data_classes: [],
    actions: ["system."],
  },
  {
    pack: "iam",
    means: "rights, identities or spending limits of agents",
    names: list("iam|identity and access management"),
    phrases: list(
      "access management|identity management|user provisioning|provision user|permission|role assignment|okta|entra|" +
        "active directory|single sign on|sso|password reset|spending limit|delegation limit|clearance|wire money|wire transfer|procurement|purchase order|pay vendor|pay supplier|pay invoice|pay bill|payroll|treasury|wiring money",
    ),
    data_classes: ["classified"],
    actions: ["identity."],
  },
  {
    pack: "mon",
    means: "high-impact actions that should be monitored",
    names: list("siem|security operation center|security operations centre"),
    phrases: list("monitoring|telemetry|observability|audit logging|splunk|opentelemetry"),
    data_classes: [],
    actions: ["system.deploy", "system.change", "data.export", "data.delete", "payment.transfer"],
  },
  {
    pack: "provenance",
    means: "an agent that reads what third parties wrote",
    names: list("prompt injection|untrusted content"),
    phrases: list(
      "inbox|incoming email|incoming mail|read email|read mail|answer email|answer mail|reply to email|customer email|email triage|" +
        "web browsing|browse the web|web search|scrape|scraping|crawl|" +
        "support ticket|customer review|uploaded document|shared document|attachment|rag|knowledge base",
    ),
    data_classes: [],
    actions: [],
  },
];

/** Places that tell where customers are, by the home of a law they fall under. */
export const PLACES: Readonly<Record<Home, readonly string[]>> = {
  us: list(
    "us|usa|united states|america|american|nationwide|alabama|alaska|arizona|arkansas|california|colorado|connecticut|delaware|" +
      "florida|hawaii|idaho|illinois|indiana|iowa|kansas|kentucky|louisiana|maine|maryland|massachusetts|michigan|" +
      "minnesota|mississippi|missouri|montana|nebraska|nevada|new hampshire|new jersey|new mexico|new york|north carolina|" +
      "north dakota|ohio|oklahoma|oregon|pennsylvania|rhode island|south carolina|south dakota|tennessee|texas|utah|" +
      "vermont|virginia|washington|west virginia|wisconsin|wyoming|puerto rico|los angeles|san francisco|san diego|sacramento|" +
      "silicon valley|bay area|chicago|houston|dallas|austin|boston|seattle|miami|atlanta|denver|philadelphia|detroit",
  ),
  "us-ca": CALIFORNIA,
  eu: list(
    "eu|eea|europe|european|european union|schengen|austria|belgium|bulgaria|croatia|cyprus|czechia|czech republic|denmark|estonia|" +
      "finland|france|french|germany|german|greece|hungary|ireland|italy|italian|latvia|lithuania|luxembourg|malta|" +
      "netherlands|dutch|poland|portugal|romania|slovakia|slovenia|spain|spanish|sweden|iceland|liechtenstein|norway|" +
      "austrian|belgian|bulgarian|croatian|czech|danish|estonian|finnish|greek|hungarian|irish|latvian|lithuanian|maltese|" +
      "portuguese|romanian|slovak|slovenian|swedish|icelandic|norwegian|nordic|scandinavia|scandinavian|benelux|baltic|" +
      "berlin|munich|hamburg|paris|madrid|barcelona|rome|milan|amsterdam|vienna|brussels|dublin|lisbon|warsaw|prague|" +
      "stockholm|copenhagen|helsinki|budapest|bucharest",
  ),
};
/** Places outside both: naming only these speaks against packs with a home. */
export const OTHER_PLACES: readonly string[] = list(
  "uk|united kingdom|britain|england|canada|australia|new zealand|japan|india|china|singapore|brazil|mexico|switzerland|" +
    "israel|korea|south africa|argentina|chile|dubai|uae|london|toronto|sydney|" +
    "melbourne|tokyo|mumbai|zurich|geneva",
);
