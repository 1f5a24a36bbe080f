import type { ActionType } from "@countersign/contract";

/** One way to recognise what a tool does, by the words of its name and description. */
export interface ToolRule {
  readonly type: ActionType;
  /** One of these must stand in the name (or, with less confidence, in the description). */
  readonly verbs: readonly string[];
  /** One of these must stand there too; empty: the verb alone is enough. */
  readonly nouns: readonly string[];
  /** The words have other meanings, too: for a person to confirm, however plainly they stand there. */
  readonly unsure: boolean;
}

const words = (text: string): readonly string[] => (text === "" ? [] : text.split(" "));
const rule = (type: ActionType, verbs: string, nouns = "", unsure = false): ToolRule => ({
  type,
  verbs: words(verbs),
  nouns: words(nouns),
  unsure,
});
const maybe = (type: ActionType, verbs: string, nouns = ""): ToolRule => rule(type, verbs, nouns, true);

/**
 * From the particular to the general: the first rule that fits decides. What moves money, grants rights or runs code
 * stands before what merely creates or reads a record, so that doubt falls on the stricter side.
 */
export const toolRules: readonly ToolRule[] = [
  rule("payment.refund", "refund reimburse"),
  maybe("payment.refund", "issue", "credit"),
  rule(
    "payment.charge",
    "charge capture bill checkout",
    "card payment customer invoice subscription order cart basket intent",
  ),
  rule("payment.charge", "charge buy purchase"),
  maybe("payment.charge", "confirm", "payment"),
  maybe("payment.charge", "place submit finalize book", "order invoice flight hotel ticket"),
  rule(
    "payment.transfer",
    "send transfer wire pay payout remit schedule create update make execute submit issue move post load topup",
    "money fund payment wire transfer payout transaction remittance",
  ),
  rule("payment.transfer", "initiate", "transfer payment payout wire withdrawal"),
  rule("payment.transfer", "run process", "payroll"),
  rule("payment.transfer", "process", "payment payout transfer withdrawal"),
  maybe("payment.transfer", "transfer donate tip stake bridge liquidate"),
  maybe("payment.transfer", "top", "up"),
  maybe("payment.transfer", "release", "payment fund money escrow"),
  rule("payment.transfer", "withdraw deposit disburse", "fund money cash balance account amount payment wallet"),
  rule("payment.transfer", "pay payout wire remit disburse"),
  maybe("payment.transfer", "sell trade sign", "stock share position order crypto transaction security coin token"),
  maybe("payment.transfer", "approve authorize", "payment invoice expense reimbursement payout bill"),
  maybe("identity.revoke", "terminate offboard", "employee worker staff user employment contractor"),
  rule("identity.revoke", "offboard deprovision"),
  rule("identity.revoke", "ban kick", "member user participant guest customer"),
  rule(
    "identity.revoke",
    "revoke disable deactivate suspend remove delete lock",
    "access permission role user account key token credential session membership mfa",
  ),
  rule("identity.revoke", "detach", "policy role permission group"),
  rule(
    "identity.grant",
    "reset update change set rotate",
    "password passphrase credential permission role privilege secret mfa",
  ),
  rule(
    "identity.grant",
    "grant invite add assign create enable unlock provision",
    "access permission role password credential member membership privilege key token user account",
  ),
  rule("identity.grant", "rotate", "key token certificate"),
  rule("identity.grant", "attach", "policy role permission group"),
  rule("identity.grant", "transfer change", "ownership owner"),
  maybe("identity.grant", "onboard", "employee user worker staff contractor"),
  rule("identity.grant", "grant impersonate"),
  rule("model.train", "train finetune tune retrain fit", "model classifier adapter network"),
  rule("model.train", "start create run launch submit", "training finetuning tuning finetune"),
  rule("model.train", "finetune retrain"),
  rule(
    "model.decide",
    "decide score approve reject deny screen rank predict classify evaluate assess underwrite",
    "lead applicant application candidate loan credit claim eligibility risk person customer resume tenant",
  ),
  rule("finance.journal", "post create add book reverse update record", "journal ledger accrual posting"),
  maybe("finance.journal", "close reconcile", "book period account ledger"),
  rule(
    "finance.report",
    "publish file submit release generate create",
    "filing earning statement 10k 10q balance financials",
  ),
  rule("finance.report", "file submit", "tax"),
  rule(
    "system.recover",
    "restore rollback recover failover revert",
    "backup system server database cluster service deployment snapshot version release",
  ),
  rule("system.recover", "rollback failover"),
  rule("system.deploy", "deploy rollout promote"),
  rule("system.deploy", "release ship", "version build app application service package image firmware code"),
  rule(
    "system.change",
    "restart reboot scale configure apply migrate execute run exec install uninstall patch provision " +
      "terminate drain destroy start stop kill pause resume invoke launch rebuild rerun trigger reset " +
      "vacuum",
    "terraform kubectl helm kubernetes server service cluster command shell script sql query code config " +
      "configuration instance database container job workflow pipeline migration bash python pod node " +
      "process function lambda vm host chart index branch table",
  ),
  rule("system.change", "block unblock isolate open close forward", "ip host port firewall endpoint domain"),
  maybe(
    "system.change",
    "toggle turn switch lock unlock set flush push merge evaluate",
    "flag feature light device door cache commit remote branch repo repository pull javascript " +
      "expression script thermostat",
  ),
  rule(
    "system.change",
    "restart reboot exec eval terminate bash shell python powershell terminal uninstall cordon reindex",
  ),
  rule("system.change", "manage", "node cluster pod instance server"),
  rule(
    "communication.call",
    "call dial phone ring place make",
    "twilio call phone number customer patient lead contact telephone voice voicemail",
  ),
  rule("communication.call", "dial"),
  rule("communication.sms", "send text reply schedule", "sms mms rcs text whatsapp"),
  rule("communication.email", "send reply forward compose draft email mail", "email mail gmail newsletter inbox"),
  rule(
    "communication.chat",
    "send post reply message notify comment tweet dm",
    "message chat slack channel dm comment teams discord tweet thread direct",
  ),
  maybe("communication.chat", "notify alert remind"),
  maybe("communication.email", "respond answer", "event invitation invite customer email mail ticket"),
  rule(
    "data.share",
    "share publish upload sync post expose",
    "file document folder link record calendar event data webpage page dataset drive",
  ),
  rule("data.share", "add invite", "participant attendee collaborator guest viewer"),
  rule("data.share", "share publish upload"),
  maybe("data.share", "release disclose", "record file data document information report"),
  rule("data.export", "export download dump extract backup"),
  rule(
    "data.delete",
    "delete purge erase wipe drop truncate destroy clear",
    "data dataset table database bucket collection index all history queue log",
  ),
  rule("data.delete", "purge erase wipe truncate"),
  maybe("data.delete", "clear flush cleanup"),
  rule("record.delete", "delete remove cancel archive void discard trash unsubscribe rm unfollow"),
  rule(
    "record.update",
    "update edit modify set change patch append reschedule rename move assign close reopen tag mark " +
      "resolve merge confirm complete write save toggle replace upsert dismiss finalize transition " +
      "discharge adjust fill overwrite",
  ),
  rule(
    "record.create",
    "create add insert new book schedule register make reserve submit generate store put fork clone import",
  ),
  // A file that is opened is read, and an account that is opened is made.
  rule("record.create", "open", "account ticket issue case request claim pull pr"),
  rule("record.create", "log"),
  // What may be one or the other, and words that are nouns as often: a person says.
  maybe(
    "record.update",
    "pin unpin star mute freeze flag increase decrease upgrade downgrade renew acknowledge moderate hire " +
      "withdraw sign approve reject deny accept decline apply like follow subscribe increment reset push " +
      "pull lock unlock pause resume escalate hangup",
  ),
  maybe(
    "record.create",
    "hold claim admit enroll enrol mint order request prescribe refill issue file record copy duplicate post onboard",
  ),
  maybe("communication.email", "send reply respond"),
  maybe(
    "system.change",
    "quarantine install execute arm disarm run start stop trigger enable disable activate invoke click press type",
  ),
  rule(
    "data.read",
    "get list read search find fetch lookup query view show check retrieve describe count browse look " +
      "inspect summarize download see load scan status history navigate screenshot preview explain suggest " +
      "compare scrape crawl calculate validate estimate ping whoami diff tail glob grep",
  ),
  maybe("data.read", "open"),
];

/** Verbs that are nouns as often: in second place they are one, as in update_phone_number. */
export const nounVerbs: ReadonlySet<string> = new Set(
  words(
    "phone text email mail message comment tweet dm bill order release issue file record copy post " +
      "request process log book cash lock",
  ),
);

/** Words that read and are nouns as often: with an acting verb at the name's end, as in status_update, they are one. */
export const readingNouns: ReadonlySet<string> = new Set(
  words("list count status history search view query check show scan look load download screenshot read preview"),
);

/** Verbs that are hardly ever nouns, for the end of a name: the object stands first, as in view_update or db_backup_restore. */
export const LAST_VERBS: readonly string[] = words(
  "update set push reset clear rebuild write add append delete remove create insert send cancel restore " +
    "restart deactivate disable " +
    "enable revoke purge drop truncate modify replace upsert save publish submit run execute edit",
);

/**
 * What a word in a name says is done, whatever verb leads it: `create_call` calls, `stripe_create_refund` refunds. Without
 * them such a name would surely make or change a record, and a record is all that the rules would then see.
 */
export const doingWords: readonly (readonly [type: string, words: readonly string[]])[] = [
  ["payment.refund", words("refund reimbursement chargeback")],
  ["payment.charge", words("charge")],
  ["payment.transfer", words("payment payout wire transfer deposit withdrawal remittance disbursement fund")],
  ["system.deploy", words("deployment rollout")],
  ["system.change", words("kubectl terraform helm")],
  ["data.share", words("upload")],
  ["communication.call", words("call")],
  ["communication.sms", words("sms")],
  ["communication.email", words("email")],
  ["communication.chat", words("message")],
];

/** Data classes by the words of a tool's name, description and parameters. */
export const dataClassWords: readonly (readonly [data_class: string, words: readonly string[]])[] = [
  ["phi", words("patient diagnosis medical prescription medication clinical ehr emr phi icd fhir")],
  ["sad", words("cvv cvc")],
  ["chd", words("cardholder")],
  ["education_record", words("student gpa")],
  ["financial_reporting", words("ledger accrual")],
  ["cui", words("cui itar")],
  ["child", words("pupil kid")],
  ["special_category", words("religion ethnicity race biometric genetic sexual political")],
  [
    "personal",
    words(
      "customer user person contact phone address email name ssn birth dob passport employee recipient " +
        "recipients patient student applicant candidate lead member participant participants attendee",
    ),
  ],
];

/** Words of a data class beside another word only: a health check is no health record, and a pinned message no PIN. */
export const dataClassPairs: readonly (readonly [
  data_class: string,
  words: readonly string[],
  with_one_of: readonly string[],
])[] = [
  ["phi", words("health"), words("record patient insurance plan member information condition medical")],
  ["phi", words("lab treatment"), words("patient result test order specimen medical plan clinic doctor")],
  ["sad", words("pin track"), words("card debit cardholder atm magnetic stripe cvv")],
  [
    "chd",
    words("card pan"),
    words("credit debit payment charge number expiry cvv cvc cardholder visa mastercard token billing pan pay"),
  ],
  [
    "education_record",
    words("grade transcript enrollment enrolment"),
    words("student course school university academic semester class exam gpa"),
  ],
  ["financial_reporting", words("journal"), words("entry ledger accrual debit credit accounting")],
  [
    "financial_reporting",
    words("filing earning"),
    words("sec quarter quarterly annual report statement release 10k 10q"),
  ],
  ["child", words("child minor"), words("age parent guardian consent dob school family birth")],
  ["special_category", words("union"), words("trade labor labour membership")],
];

/** Words of a reading tool that brings in what third parties wrote. */
export const THIRD_PARTY_WORDS: readonly string[] = words(
  "email mail inbox web webpage url website page search ticket review comment message channel file " +
    "document attachment feed rss browse scrape calendar invoice",
);
