/** The words that actions are told by: what the released packs look at. Others are allowed, and no released rule knows them. */

/** Action types, and what an action of each does. Source: policies.md §6. */
export const actionTypes = {
  "communication.call": "calls somebody, also by machine",
  "communication.sms": "sends a text message",
  "communication.email": "sends an e-mail",
  "communication.chat": "writes into a chat, or posts",
  "data.read": "reads or searches data",
  "data.export": "takes data out: files, downloads, copies",
  "data.share": "gives data to others: links, publications, partners",
  "data.delete": "deletes data",
  "record.create": "creates a record: a ticket, an appointment, a customer",
  "record.update": "changes a record",
  "record.delete": "deletes a record",
  "payment.transfer": "sends money",
  "payment.charge": "charges somebody, or buys",
  "payment.refund": "pays back what was charged",
  "finance.journal": "posts to the books",
  "finance.report": "reports figures",
  "system.change": "changes a system, or runs commands on it",
  "system.deploy": "brings software into production",
  "system.recover": "restores, restarts or fails over",
  "identity.grant": "gives rights or an account",
  "identity.revoke": "takes rights or an account away",
  "model.decide": "lets a model decide about somebody",
  "model.train": "trains a model",
} as const satisfies Record<string, string>;

/** The type of an intent that declares none and whose verb no catalogue knows. */
export const unclassified_action_type = "other.unclassified";

/** One of the action types. */
export type ActionType = keyof typeof actionTypes;

/** Classes of data, and what is of each. Source: policies.md §6; `sensitive` is what a rule of `ccpa` takes for special_category, too. */
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
  financial_reporting: "what goes into financial reports (SOX)",
  classified: "classified information",
  non_personal: "surely about nobody",
} as const satisfies Record<string, string>;
