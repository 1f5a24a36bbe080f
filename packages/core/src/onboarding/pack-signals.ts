import type { Pair } from "./phrases.ts";
import type { Home } from "./places.ts";
import { phraseList, stem, verbForms } from "./words.ts";

/** Phrases are singular. A phrase in capitals matches only capitals. */
export interface PackSignals {
  readonly pack: string;
  /** Completes "… means ". */
  readonly means: string;
  readonly home?: Home;
  /** Names of the law, which count wherever the customer is. */
  readonly names: readonly string[];
  readonly phrases: readonly string[];
  /** Verbs with objects: "calls back our leads", "screens the applicants". */
  readonly pairs?: readonly Pair[];
  /** Words that name an industry but mean less in a description, such as "education". */
  readonly industries?: readonly string[];
  readonly data_classes: readonly string[];
  /** Action types of tools, or prefixes that end in a dot. */
  readonly actions: readonly string[];
}

const stems = (words: string): string[] => words.split(" ").map(stem);
export const pair = (verbs: string, objects: string): Pair => ({
  verbs: new Set(verbs.split(" ").flatMap(verbForms).map(stem)),
  objects: new Set(stems(objects)),
});

const people =
  "customer consumer client patient lead prospect people member borrower debtor homeowner tenant voter " +
  "donor parent guest " +
  "caller policyholder subscriber shopper buyer applicant candidate driver resident student alumni volunteer user";

/** The packs that quickstart does not enable, in the order of recommendation. */
export const packSignals: readonly PackSignals[] = [
  {
    pack: "hipaa",
    means: "protected health information",
    home: "us",
    names: phraseList("hipaa|phi|protected health information"),
    phrases: phraseList(
      "outpatient|inpatient|discharge summary|rehab center|rehab clinic|" +
        "phase i trial|phase ii trial|phase iii trial|health center|health centre|hearing aid|audiologist|" +
        "telemed|healthcare|health care|hospital|clinic|patient|medical|medicine|telehealth|telemedicine|" +
        "pharmacy|pharmacist|physician|doctor|nurse|dental|dentist|therapist|diagnosis|prescription|" +
        "health insurance|health plan|health record|ehr|emr|electronic health record|lab result|medicare|" +
        "medicaid|care provider|radiology|health insurer|health system|mental health|behavioral health|" +
        "therapy|psychologist|psychiatrist|psychiatric|nursing|hospice|home care|urgent care|pediatric|" +
        "pediatrician|paediatric|oncology|cardiology|dermatology|dialysis|surgeon|surgery|optometrist|" +
        "orthodontist|clinical trial|prior authorization|imaging center|mri|chiropractor|chiropractic|" +
        "physical therapist|physical therapy|physiotherapy|physiotherapist|blood bank|genetic test|" +
        "genetic testing|lab test|fhir|hl7|revenue cycle management|nursing home|patient portal|ambulance|" +
        "midwife|healthtech|health tech|health data|vaccination|wellness clinic|optician",
    ),
    industries: phraseList("health|pharma|pharmaceutical|life science"),
    data_classes: ["phi"],
    actions: [],
  },
  {
    pack: "tcpa",
    means: "calls or texts to people in the United States",
    home: "us",
    names: phraseList("tcpa|do not call|dnc|robocall"),
    phrases: phraseList(
      "phone receptionist|virtual receptionist|ai receptionist|" +
        "phone callback|callback request|schedule callback|txt reminder|txt message|by txt|call centre|" +
        "call center|callcentre|callcenter|contact centre|contact center|phone call|telephone|" +
        "telemarketing|outbound call|outbound calling|cold call|cold calling|automated calling|dialer|" +
        "dialler|autodialer|voice agent|ai voice|voice bot|voicebot|ivr|sms|text message|texting|" +
        "ringless voicemail|phone agent|by text|via text|by phone|by telephone|over the phone|" +
        "text reminder|text alert|phone banking|robo call|mass text|call back",
    ),
    pairs: [pair("call phone dial ring text sms txt", people), pair("callback", people)],
    industries: phraseList("debt collection|collections"),
    data_classes: [],
    actions: ["communication.call", "communication.sms"],
  },
  {
    pack: "ccpa",
    means: "personal information of Californian consumers",
    home: "us-ca",
    names: phraseList("global privacy control|do not sell|ccpa|cpra|california consumer privacy act"),
    phrases: [],
    data_classes: [],
    actions: [],
  },
  {
    pack: "pci",
    means: "payment cards",
    names: phraseList("pci|pci dss|cardholder"),
    phrases: phraseList(
      "card transaction|paid by card|klarna|stripe|adyen|braintree|company card|corporate card|billing|" +
        "payment|credit card|debit card|card number|checkout|chargeback|point of sale|e commerce|ecommerce|" +
        "online shop|online store|webshop|merchant|subscription fee|refund|" +
        "shopify|woocommerce|mastercard|american express|apple pay|google pay|paypal|web shop|web store|" +
        "online retailer|online retail|online ordering|recurring charge|card payment|payment card|" +
        "card detail|card data|prepaid card|virtual card|atm network|acquirer|card issuer|issuing card|" +
        "POS|PAN|Visa card",
    ),
    pairs: [
      pair("sell shop", "online"),
      pair("pay charge donate accept take handle", "card visa"),
      pair("issue tokenize tokenise store freeze block", "card"),
      pair("buy sell order", "online"),
    ],
    industries: phraseList("retail|hospitality|restaurant|travel|payments"),
    data_classes: ["chd", "sad"],
    actions: ["payment.charge", "payment.refund"],
  },
  {
    pack: "gdpr",
    means: "personal data of people in the European Economic Area",
    home: "eu",
    names: phraseList("dsar|right to be forgotten|right to erasure|gdpr|dsgvo|rgpd|data subject"),
    phrases: [],
    data_classes: [],
    actions: [],
  },
  {
    pack: "ferpa",
    means: "education records",
    home: "us",
    names: phraseList("ferpa|education record"),
    phrases: phraseList(
      "school|kindergarten|preschool|university|college|student|k 12|campus|higher education|registrar|" +
        "academic record|school district|pupil|edtech|" +
        "lms|learning management system|blackboard learn",
    ),
    pairs: [pair("grade mark", "essay homework coursework assignment exam")],
    industries: phraseList("education|academia"),
    data_classes: ["education_record"],
    actions: [],
  },
  {
    pack: "sox",
    means: "financial reporting of a listed company",
    names: phraseList("sox|sarbanes oxley|sec filing|10 k|10 q"),
    phrases: phraseList(
      "financial reporting|financial report|financial statement|general ledger|journal entry|" +
        "public company|listed company|" +
        "publicly traded|accounting|bookkeeping|month end close|quarterly close|earnings|" +
        "accounts payable|accounts receivable|" +
        "icfr|internal control over financial|nasdaq|nyse|10k filing|10q filing|quarter end|" +
        "year end close|financial close|ipo|consolidated account",
    ),
    data_classes: ["financial_reporting"],
    actions: ["finance."],
  },
  {
    pack: "ai",
    means: "decisions about people by a model, or the training of one",
    names: phraseList("eu ai act|ai act|nist ai rmf|ai rmf|high risk ai"),
    phrases: phraseList(
      "loan origination|" +
        "limit increase|decide who|resume parsing|cv parsing|emotion ai|automated decision|credit scoring|" +
        "credit decision|loan approval|underwriting|recruiting|recruitment|hiring|" +
        "candidate screening|cv screening|tenant screening|exam grading|grading exam|applicant|" +
        "resume screening|approve loan|deny loan|loan application|loan decision|mortgage|lending|" +
        "insurance claim|claim handling|" +
        "machine learning|training model|eligibility|biometric|model training|fine tune|train model|fine tuning|" +
        "insurance claim decision|benefit decision|chatbot|virtual assistant|" +
        "facial recognition|face recognition|emotion recognition|proctoring|background check|" +
        "claim triage|claim adjudication|creditworthiness|credit limit|credit application|" +
        "consumer credit|llm training",
    ),
    pairs: [
      pair("suggest propose give assign", "grade"),
      pair("process read parse sort filter", "resume cv applicant candidate"),
      pair(
        "screen rank score shortlist approve deny reject decide triage assess evaluate adjudicate " +
          "underwrite interview settle handle",
        "candidate applicant application tenant cv resume loan mortgage claim admission renter claimant jobseeker",
      ),
      pair("tune train retrain", "model llm classifier"),
    ],
    industries: phraseList("human resource|hr|staffing"),
    data_classes: [],
    actions: ["model."],
  },
  {
    pack: "cmmc",
    means: "controlled unclassified information of defence contracts",
    home: "us",
    names: phraseList("cmmc|cui|controlled unclassified information|dfars|nist 800 171"),
    phrases: phraseList(
      "defense contractor|defence contractor|itar|export controlled|dod|department of defense|" +
        "defense industrial base|military contract|us navy|us army|us air force|marine corps|pentagon|" +
        "lockheed|raytheon|northrop|controlled technical information|defense manufacturer|" +
        "defence manufacturer|aerospace and defense|aerospace defense|defense supplier|defence supplier|" +
        "defense contract|defence contract",
    ),
    industries: phraseList("defense|defence|aerospace"),
    data_classes: ["cui"],
    actions: [],
  },
  {
    pack: "fedramp",
    means: "data of the federal government in a cloud system",
    home: "us",
    names: phraseList("fedramp|govcloud"),
    phrases: phraseList(
      "federal civilian|us federal|federal program|" +
        "federal agency|federal government|government cloud|federal data|federal customer|government agency|us government|" +
        "department of veterans affairs|veterans affairs|department of energy|" +
        "department of homeland security|department of state|federal department|nasa|gsa|usda|" +
        "civilian agency|federal workload",
    ),
    industries: phraseList("government|public sector|federal"),
    data_classes: ["federal"],
    actions: [],
  },
  {
    pack: "csf",
    means: "actions on systems and infrastructure",
    names: phraseList("nist csf|iso 27001|cybersecurity framework"),
    phrases: phraseList(
      "soc automation|cyber security|cybersecurity|" +
        "infrastructure|devops|dev ops|sre|kubernetes|deployment|deploy|deploying|production system|" +
        "production database|server|terraform|cloud account|incident response|change management|" +
        "it operation|sysadmin|ci cd|gitops|auto merge|argocd|firewall|firewall rule|pagerduty|" +
        "incident commander|incident responder|security operation|soc analyst|aws account|" +
        "production environment|release pipeline",
    ),
    pairs: [
      pair("restore recover", "database server system backup"),
      pair("database server", "backup"),
      pair(
        "patch reboot restart scale isolate configure provision",
        "server pod host machine cluster vm instance database endpoint firewall node",
      ),
      pair("push release roll", "prod production deployment"),
      pair("merge", "request pr branch"),
    ],
    industries: phraseList("information technology|it|cloud"),
    data_classes: [],
    actions: ["system."],
  },
  {
    pack: "iam",
    means: "rights, identities or spending limits of agents",
    names: phraseList("iam|identity and access management"),
    phrases: phraseList(
      "procure to pay|" +
        "password rotation|access management|identity management|user provisioning|provision user|" +
        "permission|role assignment|okta|entra|" +
        "active directory|single sign on|sso|password reset|spending limit|delegation limit|" +
        "wire transfer|procurement|purchase order|payroll|treasury|wiring money|" +
        "classified program|cleared facility|accounts payable|ap automation|offboarding|" +
        "joiner mover leaver|least privilege|security clearance|onboarding employee|" +
        "onboarding new employee",
    ),
    pairs: [
      pair("pay settle wire transfer", "vendor supplier invoice bill money fund contractor carrier freelancer"),
      pair("move send wire transfer", "money fund cash"),
      pair("schedule approve release", "payment"),
      pair("create provision deprovision disable unlock", "account user"),
      pair("rotate reset", "password credential secret"),
      pair("assign grant revoke", "role right permission access group privilege"),
      pair("raise approve", "purchase"),
    ],
    data_classes: ["classified"],
    actions: ["identity."],
  },
  {
    pack: "mon",
    means: "high-impact actions that should be monitored",
    names: phraseList("siem|security operation center|security operations centre"),
    phrases: phraseList(
      "datadog|grafana|prometheus|new relic|monitoring|telemetry|observability|audit logging|splunk|opentelemetry",
    ),
    pairs: [pair("monitor", "server system sensor device log metric machine network infrastructure transaction host")],
    data_classes: [],
    actions: ["system.deploy", "system.change", "data.export", "data.delete", "payment.transfer"],
  },
  {
    pack: "provenance",
    means: "an agent that reads what third parties wrote",
    names: phraseList("prompt injection|untrusted content"),
    phrases: phraseList(
      "bug bounty|" +
        "from the web|against the web|untrusted input|public forum|community forum|forum post|bug report|" +
        "inbox|incoming email|incoming mail|read email|read mail|answer email|answer mail|reply to email|" +
        "customer email|email triage|web browsing|browse the web|web search|scrape|scraping|crawl|" +
        "support ticket|customer review|uploaded document|shared document|attachment|knowledge base|" +
        "e mail triage|browser agent|zendesk|github issue|scraper|web crawler|RAG|" +
        "retrieval augmented generation",
    ),
    pairs: [
      pair(
        "read triage answer summarise summarize process reply sort parse review respond handle " +
          "digest classify scan ingest",
        "email mail inbox ticket complaint review message attachment document pdf invoice issue webpage " +
          "website page submission comment upload resume cv letter",
      ),
      pair("negotiate correspond", "email mail"),
      pair("open", "attachment email mail pdf link"),
      pair("email message write", "us"),
      pair("shop browse crawl scrape visit read search", "web internet website webpage site page"),
      pair("monitor read watch", "social"),
      pair("upload submit file", "document pdf attachment issue form"),
      pair("arrive come receive", "email mail"),
      pair("pdf document file image", "upload submit"),
    ],
    data_classes: [],
    actions: [],
  },
  {
    pack: "limits",
    means: "limits of what agents do over time",
    names: phraseList("velocity limit|velocity check|anti money laundering|aml|structuring"),
    phrases: phraseList(
      "daily limit|weekly limit|monthly limit|daily budget|monthly budget|spending cap|spend cap|spending limit|" +
        "budget cap|runaway agent|per day limit|send limit|transaction limit|refund limit|payout limit",
    ),
    pairs: [pair("limit cap", "spending spend payment refund payout transfer message email transaction")],
    data_classes: [],
    actions: ["payment."],
  },
  {
    pack: "coding",
    means: "commands and files of a coding agent",
    names: phraseList("claude code|coding agent|coding assistant"),
    phrases: phraseList("shell command|pull request|code review|bug fix|refactoring|terminal command|git commit"),
    pairs: [pair("write fix refactor review", "code bug codebase repository")],
    data_classes: [],
    actions: ["code.", "file."],
  },
];
