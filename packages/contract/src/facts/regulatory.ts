import type { FactCategory } from "./fact.ts";

/** Source: spec §2.9 regulatory. */
export const regulatory = {
  name: "regulatory",
  meaning: "consents, scopes and registrations that laws ask for",
  max_age_seconds: 86_400,
  fields: [
    { name: "applicable_frameworks", types: ["object"], meaning: "frameworks that apply, keyed by domain" },
    { name: "gdpr_consent", types: ["object"], meaning: "data subject's GDPR consent record" },
    { name: "hipaa_access_purpose", types: ["string"], meaning: "treatment, payment, operations, research and others" },
    { name: "patient_authorization", types: ["boolean"], meaning: "documented patient authorization covers the use" },
    {
      name: "minimum_necessary_override",
      types: ["string", "boolean"],
      meaning: "documented reason to override minimum necessary",
    },
    { name: "patient_access_request", types: ["object"], meaning: "right-of-access request being answered" },
    {
      name: "cardholder_data_environment",
      types: ["boolean"],
      meaning: "target is inside the cardholder data environment",
    },
    { name: "ccpa_opt_out", types: ["object"], meaning: "consumer's sale/share opt-out" },
    { name: "consumer_age", types: ["number"], meaning: "years" },
    { name: "ccpa_minor_opt_in", types: ["object"], meaning: "opt-in for a consumer under 16" },
    { name: "gpc_override_consent", types: ["object"], meaning: "consent overriding a Global Privacy Control signal" },
    { name: "ferpa_record_type", types: ["string"], meaning: "for example grades, directory_information" },
    { name: "ferpa_consent", types: ["object"], meaning: "written consent to disclose the record" },
    {
      name: "ferpa_disclosure_purpose",
      types: ["string"],
      meaning: "exception relied on, e.g. school_official, judicial_order",
    },
    { name: "ferpa_directory_opt_out", types: ["boolean"], meaning: "student opted out of directory disclosure" },
    { name: "sox_scope", types: ["object"], meaning: "action is in SOX scope" },
    { name: "tcpa", types: ["object"], meaning: "all TCPA context in one object" },
    { name: "tcpa_consent", types: ["object"], meaning: "recipient's TCPA consent record" },
    { name: "dnc_registry_status", types: ["string"], meaning: "for example listed, not_listed" },
    { name: "established_business_relationship", types: ["object"], meaning: "relationship with the recipient" },
    {
      name: "dnc_last_scrub_date",
      types: ["string"],
      meaning: "ISO 8601 date of last scrub against the registry",
      constraint: { kind: "iso_date" },
    },
    { name: "internal_dnc_listed", types: ["boolean"], meaning: "number is on the customer's own do-not-call list" },
    { name: "revocation_sla_exceeded", types: ["boolean"], meaning: "a consent revocation missed its deadline" },
    {
      name: "revocation_business_days_elapsed",
      types: ["number"],
      meaning: "business days since the revocation request",
    },
    { name: "ai_voice_detected", types: ["boolean"], meaning: "as in environmental" },
    { name: "ai_voice_disclosure", types: ["boolean", "string"], meaning: "as in environmental" },
    { name: "recipient_state", types: ["string"], meaning: "two-letter US state", constraint: { kind: "us_state" } },
  ],
} as const satisfies FactCategory;
