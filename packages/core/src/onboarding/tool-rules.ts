/** Data for `classify-tool.ts`. */
import type { ActionType } from "@countersign/contract";
import { stem } from "./words.ts";

/** Words by stem. */
export type Words = ReadonlyMap<string, string>;

/** If `beside` is not empty, one of its words must be next to the word. */
export interface WordRule<Meaning extends string = ActionType> {
  readonly means: Meaning;
  readonly words: Words;
  readonly beside: Words;
  /** False: a person must confirm, because the words have other meanings. */
  readonly sure: boolean;
}

const words = (text: string): Words =>
  new Map(text === "" ? [] : text.split(" ").map((word) => [stem(word), word] as const));

const ruleOf =
  (sure: boolean) =>
  <Meaning extends string = ActionType>(means: Meaning, one_of: string, beside = ""): WordRule<Meaning> => ({
    means,
    words: words(one_of),
    beside: words(beside),
    sure,
  });
const rule = ruleOf(true);
const maybe = ruleOf(false);

/**
 * The first matching rule decides. Stricter rules (money, rights, code) come first, so doubt falls on the stricter
 * side.
 */
export const objectRules: readonly WordRule[] = [
  maybe("payment.refund", "issue", "credit"),
  rule(
    "payment.charge",
    "charge capture bill checkout",
    "card payment customer invoice subscription order cart basket intent",
  ),
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
  maybe("payment.transfer", "top", "up"),
  maybe("payment.transfer", "release", "payment fund money escrow"),
  rule("payment.transfer", "withdraw deposit disburse", "fund money cash balance account amount payment wallet"),
  maybe("payment.transfer", "sell trade sign", "stock share position order crypto transaction security coin token"),
  maybe("payment.transfer", "approve authorize", "payment invoice expense reimbursement payout bill"),
  maybe("identity.revoke", "terminate offboard", "employee worker staff user employment contractor"),
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
  rule("model.train", "train finetune tune retrain fit", "model classifier adapter network"),
  rule("model.train", "start create run launch submit", "training finetuning tuning finetune"),
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
  rule("system.change", "manage", "node cluster pod instance server"),
  rule(
    "communication.call",
    "call dial phone ring place make",
    "twilio call phone number customer patient lead contact telephone voice voicemail",
  ),
  rule("communication.sms", "send text reply schedule", "sms mms rcs text whatsapp"),
  rule("communication.email", "send reply forward compose draft email mail", "email mail gmail newsletter inbox"),
  rule(
    "communication.chat",
    "send post reply message notify comment tweet dm",
    "message chat slack channel dm comment teams discord tweet thread direct",
  ),
  maybe("communication.email", "respond answer", "event invitation invite customer email mail ticket"),
  rule(
    "data.share",
    "share publish upload sync post expose",
    "file document folder link record calendar event data webpage page dataset drive",
  ),
  rule("data.share", "add invite", "participant attendee collaborator guest viewer"),
  maybe("data.share", "release disclose", "record file data document information report"),
  rule(
    "data.delete",
    "delete purge erase wipe drop truncate destroy clear",
    "data dataset table database bucket collection index all history queue log",
  ),
  // An opened file is read, but an opened account is created.
  rule("record.create", "open", "account ticket issue case request claim pull pr"),
  maybe("record.create", "list", "sale marketplace auction"),
];

export const verbRules: readonly WordRule[] = [
  rule("payment.refund", "refund reimburse"),
  rule("payment.charge", "charge buy purchase"),
  maybe("payment.transfer", "transfer donate tip stake bridge liquidate"),
  rule("payment.transfer", "pay payout wire remit disburse"),
  rule("identity.revoke", "offboard deprovision"),
  rule("identity.grant", "grant impersonate"),
  rule("model.train", "finetune retrain"),
  rule("system.recover", "rollback failover"),
  rule("system.deploy", "deploy rollout promote"),
  rule(
    "system.change",
    "restart reboot exec eval terminate bash shell python powershell terminal uninstall cordon reindex",
  ),
  rule("communication.call", "dial"),
  maybe("communication.chat", "notify alert remind"),
  rule("data.share", "share publish upload"),
  rule("data.export", "export download dump extract backup"),
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
  rule("record.create", "log"),
  // Ambiguous words, and words that are often nouns.
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
      "inspect summarize see scan status history navigate screenshot preview explain suggest " +
      "compare scrape crawl calculate validate estimate ping whoami diff tail glob grep",
  ),
  rule("data.read", "load"),
  maybe("data.read", "open"),
];

/** Verbs without "store" and "log", which record a past event. */
const verbsOn = (type: string): string =>
  verbRules
    .filter(({ means }) => means.startsWith(type))
    .flatMap((each) => [...each.words.values()])
    .filter((verb) => verb !== "store" && verb !== "log")
    .join(" ");
const making = verbsOn("record.create");
const changing = verbsOn("record.");

/** Words that count only in a name. Otherwise `create_call` would be a record with high confidence. */
export const nameRules: readonly WordRule[] = [
  maybe("record.update", "check", "in out"),
  maybe("data.share", "to", "email slack team channel printer webhook ftp sms public"),
  maybe("payment.refund", changing, "refund reimbursement chargeback"),
  maybe("payment.charge", changing, "charge"),
  maybe("payment.transfer", changing, "payment payout wire transfer deposit withdrawal remittance disbursement fund"),
  maybe("system.deploy", changing, "deployment rollout"),
  maybe("system.change", changing, "kubectl terraform helm"),
  maybe("data.share", changing, "upload"),
  maybe("communication.call", making, "call"),
  maybe("communication.sms", making, "sms"),
  maybe("communication.email", making, "email"),
  maybe("communication.chat", making, "message"),
];

/** Verbs that are nouns in second place: update_phone_number. */
export const nounVerbs: Words = words(
  "phone text email mail message comment tweet dm bill order release issue file record copy post " +
    "request process log book cash lock",
);

/** Nouns before a reading verb: charge_list. */
export const nounsBeforeReading: Words = new Map([...nounVerbs, ...words("charge refund export backup call transfer")]);

/** Reading verbs that are nouns before an acting verb at the end: status_update. */
export const readingNouns: Words = words(
  "list count status history search view query check show scan look load download screenshot read preview",
);

/** Words that are no verbs before another verb: history_export. */
export const neverVerbs: Words = words("status history screenshot");

/** Verbs that follow their object at the name's end: db_backup_restore. */
export const lastVerbs: Words = words(
  "update set push reset clear rebuild write add append delete remove create insert send cancel restore restart " +
    "deactivate disable enable revoke purge drop truncate modify replace upsert save publish submit run execute edit",
);

/** Nouns after a reading verb: get_update_history reads. */
export const nounsAfterReading: Words = words("update set run");

/** Words between two actions of one tool: check_and_pay. */
export const joints: Words = words("and or then n");

/** Some words need another beside them: a health check is no health record. */
export const dataClassRules: readonly WordRule<string>[] = [
  rule("phi", "patient diagnosis medical prescription medication clinical ehr emr phi icd fhir"),
  rule("phi", "health", "record patient insurance plan member information condition medical"),
  rule("phi", "lab treatment", "patient result test order specimen medical plan clinic doctor"),
  rule("sad", "cvv cvc"),
  rule("sad", "pin track", "card debit cardholder atm magnetic stripe cvv"),
  rule("chd", "cardholder"),
  rule(
    "chd",
    "card pan",
    "credit debit payment charge number expiry cvv cvc cardholder visa mastercard token billing pan pay",
  ),
  rule("education_record", "student gpa"),
  rule(
    "education_record",
    "grade transcript enrollment enrolment",
    "student course school university academic semester class exam gpa",
  ),
  rule("financial_reporting", "ledger accrual"),
  rule("financial_reporting", "journal", "entry ledger accrual debit credit accounting"),
  rule("financial_reporting", "filing earning", "sec quarter quarterly annual report statement release 10k 10q"),
  rule("cui", "cui itar"),
  rule("child", "pupil kid"),
  rule("child", "child minor", "age parent guardian consent dob school family birth"),
  rule("special_category", "religion ethnicity race biometric genetic sexual political"),
  rule("special_category", "union", "trade labor labour membership"),
  rule(
    "personal",
    "customer user person contact phone address email name ssn birth dob passport employee recipient patient student " +
      "applicant candidate lead member participant attendee",
  ),
];

export const thirdPartyWords: Words = words(
  "email mail inbox web webpage url website page search ticket review comment message channel file " +
    "document attachment feed rss browse scrape calendar invoice",
);
