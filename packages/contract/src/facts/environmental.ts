import type { FactCategory } from "./fact.ts";

/** Source: spec §2.9 environmental. */
export const environmental = {
  name: "environmental",
  meaning: "the channel and the moment of an action",
  max_age_seconds: 900,
  fields: [
    { name: "channel_encryption", types: ["boolean"], meaning: "the channel is encrypted end to end" },
    { name: "tls_version", types: ["string", "number"], meaning: "TLS version of the channel" },
    { name: "protocol", types: ["string"], meaning: "transport protocol, for example https, sftp, ftp" },
    {
      name: "network_segment",
      types: ["string"],
      meaning: "segment of the target, for example cde, internal, public",
    },
    {
      name: "global_privacy_control",
      types: ["boolean"],
      meaning: "the consumer sent a Global Privacy Control signal",
    },
    { name: "communication_channel", types: ["string"], meaning: "voice, sms, email and others" },
    {
      name: "communication_method",
      types: ["string"],
      meaning: "autodialer, prerecorded, ai_voice, manual and others",
    },
    {
      name: "recipient_local_hour",
      types: ["integer"],
      meaning: "0 to 23",
      constraint: { kind: "integer_range", min: 0, max: 23 },
    },
    { name: "recipient_state", types: ["string"], meaning: "two-letter US state", constraint: { kind: "us_state" } },
    { name: "ai_voice_detected", types: ["boolean"], meaning: "an AI-generated voice is in use" },
    { name: "ai_voice_disclosure", types: ["boolean", "string"], meaning: "the call discloses the AI voice" },
    {
      name: "boundary_crossing_approved",
      types: ["boolean"],
      meaning: "data leaving the FedRAMP authorization boundary is approved",
    },
    { name: "encryption_standard", types: ["string"], meaning: "e.g. fips_140_3" },
    { name: "transport_security", types: ["string"], meaning: "for CUI, e.g. tls_1_3, fips_validated" },
  ],
} as const satisfies FactCategory;
