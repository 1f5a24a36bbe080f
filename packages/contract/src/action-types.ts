/** Action types and data classes that the released packs read. Callers may use others. */

export const actionTypes = {
  "communication.call": "calls somebody, also by machine",
  "communication.sms": "sends a text message",
  "communication.email": "sends an e-mail",
  "communication.chat": "writes into a chat, or posts",
  "data.read": "reads or searches data",
  "data.export": "exports data: files, downloads, copies",
  "data.share": "shares data with others: links, publications, partners",
  "data.delete": "deletes data",
  "record.create": "creates a record: a ticket, an appointment, a customer",
  "record.update": "changes a record",
  "record.delete": "deletes a record",
  "payment.transfer": "sends money",
  "payment.charge": "charges somebody, or buys",
  "payment.refund": "pays a charge back",
  "finance.journal": "posts to the books",
  "finance.report": "reports figures",
  "system.change": "changes a system, or runs commands on it",
  "system.deploy": "deploys software to production",
  "system.recover": "restores, restarts or fails over",
  "identity.grant": "grants rights or an account",
  "identity.revoke": "revokes rights or an account",
  "code.execute": "runs commands or code on a machine",
  "file.write": "writes, changes or deletes files of a project",
  "model.decide": "lets a model decide about a person",
  "model.train": "trains a model",
} as const satisfies Record<string, string>;

/** The type of an intent without a type, if no catalogue knows its verb. */
export const unclassified_action_type = "other.unclassified";

/** An agent asks to use a tool whose definition changed. People always decide on it, whatever the policies say. */
export const tool_change_action_type = "tool.change";

export type ActionType = keyof typeof actionTypes;

/** The pack `ccpa` treats `sensitive` like `special_category`. */
export const dataClasses = {
  personal: "data about people",
  special_category: "health, beliefs, origin, politics, sex life, genes, biometrics (GDPR Art. 9)",
  sensitive: "sensitive personal information (CCPA)",
  child: "data about children",
  phi: "protected health information (HIPAA)",
  chd: "cardholder data (PCI DSS)",
  sad: "sensitive authentication data of cards: CVV, PIN, whole tracks (PCI DSS)",
  education_record: "records of students (FERPA)",
  cui: "controlled unclassified information (CMMC)",
  federal: "data of federal agencies (FedRAMP)",
  financial_reporting: "data for financial reports (SOX)",
  classified: "classified information",
  non_personal: "data that is certainly about no person",
} as const satisfies Record<string, string>;
