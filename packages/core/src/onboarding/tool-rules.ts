/** One way to recognise what a tool does, by the words of its name and description. */
export interface ToolRule {
  readonly type: string;
  /** One of these must stand in the name (or, with less confidence, in the description). */
  readonly verbs: readonly string[];
  /** One of these must stand there too; empty: the verb alone is enough. */
  readonly nouns: readonly string[];
}

const words = (text: string): readonly string[] => (text === "" ? [] : text.split(" "));
const rule = (type: string, verbs: string, nouns = ""): ToolRule => ({
  type,
  verbs: words(verbs),
  nouns: words(nouns),
});

/**
 * From the particular to the general: the first rule that fits decides. What moves money, grants rights or runs code
 * stands before what merely creates or reads a record, so that doubt falls on the stricter side.
 */
export const TOOL_RULES: readonly ToolRule[] = [
  rule("payment.refund", "refund reimburse"),
  rule(
    "payment.charge",
    "charge capture bill checkout",
    "card payment customer invoice subscription order cart basket",
  ),
  rule("payment.charge", "charge"),
  rule(
    "payment.transfer",
    "send transfer wire pay payout remit schedule create update make execute submit issue move post load topup",
    "money fund payment wire transfer payout transaction remittance",
  ),
  rule("payment.transfer", "pay payout wire remit"),
  rule(
    "identity.revoke",
    "revoke disable deactivate suspend remove delete lock",
    "access permission role user account key token credential session membership",
  ),
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
  rule("identity.grant", "grant impersonate"),
  rule("model.train", "train finetune tune retrain fit", "model classifier adapter network"),
  rule("model.train", "finetune retrain"),
  rule(
    "model.decide",
    "decide score approve reject deny screen rank predict classify evaluate assess underwrite",
    "applicant application candidate loan credit claim eligibility risk person customer resume tenant",
  ),
  rule("finance.journal", "post create add book reverse update record", "journal ledger accrual posting"),
  rule(
    "finance.report",
    "publish file submit release generate create",
    "filing earning statement 10k 10q balance financials",
  ),
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
    "restart reboot scale configure apply migrate execute run exec install patch provision terminate drain destroy",
    "terraform kubectl helm kubernetes server service cluster command shell script sql query code config configuration instance database container job workflow pipeline migration bash python",
  ),
  rule("system.change", "restart reboot exec eval terminate bash shell python powershell terminal"),
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
  rule(
    "data.share",
    "share publish upload sync post expose",
    "file document folder link record calendar event data webpage page dataset drive",
  ),
  rule("data.share", "add invite", "participant attendee collaborator guest viewer"),
  rule("data.share", "share publish upload"),
  rule("data.export", "export download dump extract backup"),
  rule(
    "data.delete",
    "delete purge erase wipe drop truncate destroy",
    "data dataset table database bucket collection index all history",
  ),
  rule("data.delete", "purge erase wipe truncate"),
  rule("record.delete", "delete remove cancel archive void discard trash unsubscribe rm"),
  rule(
    "record.update",
    "update edit modify set change patch append reschedule rename move assign close reopen tag mark resolve merge confirm complete write save toggle replace",
  ),
  rule("record.create", "create add insert new book schedule register open make reserve submit generate store log put"),
  rule(
    "data.read",
    "get list read search find fetch lookup query view show check retrieve describe count browse look open inspect summarize download see load scan status history navigate screenshot",
  ),
];

/**
 * What a word in a name says is done, whatever verb leads it: `create_call` calls, `stripe_create_refund` refunds. Without
 * them such a name would surely make or change a record, and a record is all that the rules would then see.
 */
export const DOING_WORDS: readonly (readonly [type: string, words: readonly string[]])[] = [
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
export const DATA_CLASS_WORDS: readonly (readonly [data_class: string, words: readonly string[]])[] = [
  ["phi", words("patient diagnosis medical prescription medication health clinical ehr emr lab treatment phi icd")],
  ["sad", words("cvv cvc pin track")],
  ["chd", words("card pan cardholder")],
  ["education_record", words("student grade transcript enrollment enrolment gpa")],
  ["financial_reporting", words("ledger journal accrual filing earning")],
  ["cui", words("cui itar")],
  ["child", words("child minor pupil kid")],
  ["special_category", words("religion ethnicity race biometric genetic sexual political union")],
  [
    "personal",
    words(
      "customer user person contact phone address email name ssn birth dob passport employee recipient recipients patient student applicant candidate lead member participant participants attendee",
    ),
  ],
];

/** Words of a reading tool that brings in what third parties wrote. */
export const THIRD_PARTY_WORDS: readonly string[] = words(
  "email mail inbox web webpage url website page search ticket review comment message channel file document attachment feed rss browse scrape calendar invoice",
);
