/** All limits of the API. Names end with the unit. */

export const limits = {
  // Bodies
  body_bytes_max: 1_048_576,
  batch_body_bytes_max: 8_388_608,
  /** For callers without a key or a session, and for optional bodies. */
  small_body_bytes_max: 16_384,
  json_depth_max: 32,
  /**
   * Commas and opening brackets of a body or a batch item: about the number of its values. The work grows with this
   * number, not with bytes.
   */
  json_values_max: 10_000,
  /** For 1,000 known tools with about fifteen data classes each. */
  membrane_values_max: 20_000,
  /** A batch item deeper than `json_depth_max` fails alone. An item deeper than this fails the batch. */
  batch_json_depth_max: 1_000,
  error_details_max: 50,
  /** For larger bodies the service reports only the first problem of shape. */
  problems_collected_bytes_max: 16_384,
  idempotency_key_chars_max: 255,
  idempotency_kept_hours_min: 24,
  /** Nobody may guess this key, because it alone proves that a repeated quickstart comes from the same caller. */
  quickstart_idempotency_key_bits_min: 128,
  quickstart_repeated_seconds_max: 600,
  /** For an intake that no quickstart used. */
  intake_kept_days: 30,
  id_chars_max: 128,

  // Log. See docs/decisions/0063-a-log-that-strangers-can-check.md
  log_tile_path_chars_max: 40,
  log_key_overlap_days_default: 30,
  log_key_overlap_days_max: 90,
  log_keys_signing_max: 4,
  log_witness_name_chars_max: 200,
  log_witnesses_max: 8,

  // Streams. See docs/decisions/0069-streams.md
  streams_per_organization_max: 10,
  stream_prefix_chars_max: 256,
  stream_secret_chars_max: 256,
  /** Of an object, before its last entry. */
  stream_object_bytes_max: 4_194_304,
  /** An entry waits this long at most, if the store takes objects. */
  stream_wait_seconds: 60,
  /** A stream that is so far behind needs attention. */
  stream_behind_seconds: 900,

  // Lists
  list_limit_default: 50,
  list_limit_max: 200,
  cursor_chars_max: 512,

  // Intents. Source: spec §8 rule 5
  batch_intents_max: 50,
  decision_wait_seconds_max: 55,
  agent_id_chars_max: 128,
  verb_chars_max: 128,
  action_type_chars_max: 128,
  target_identifier_chars_max: 1_024,
  summary_chars_max: 10_000,
  regulatory_domains_max: 50,
  data_classes_max: 50,
  label_chars_max: 128,
  comment_chars_max: 4_000,

  // Hooks of coding agents
  hook_id_chars_max: 100,
  hook_wait_seconds_default: 50,
  path_chars_max: 4_096,

  // Grants. See docs/decisions/0045-grants.md
  grant_times_max: 1_000,
  grant_hours_max: 720,
  grant_bounds_max: 5,
  /** Per agent and verb. */
  grants_live_max: 50,

  // Claims. See docs/decisions/0036-claims.md
  claim_nonce_chars_max: 255,
  claim_unknown_after_seconds: 900,

  // Keys. Source: spec §2.2 and §8 rule 11
  api_key_random_chars_min: 32,
  api_key_checksum_chars: 6,
  api_key_lifetime_days_default: 365,
  api_key_lifetime_days_max: 3_650,
  key_bindings_max: 100,
  cidr_chars_max: 64,
  observed_bindings_days: 30,
  observed_decisions_max: 50_000,
  key_expiry_days: [14, 3, 1],
  key_warnings_max: 20,
  name_chars_max: 128,
  /** People and keys that the filter `by` of the audit trail may match. */
  audit_actors_max: 100,

  // Context. Source: spec §2.9 and §8 rule 10
  context_keys_per_category_max: 200,
  context_key_chars_max: 64,
  as_of_ahead_seconds_max: 300,
  /** Ten years, as in policies. Later times have no valid text. */
  facts_max_age_seconds_max: 316_224_000,
  facts_from_max: 100,
  context_source_timeout_ms_max: 1_000,
  context_source_answer_bytes_max: 262_144,
  context_source_pulls_max: 16,
  context_source_kept_seconds_max: 60,
  context_source_failures_max: 5,
  context_source_pause_seconds: 5,

  // Tokens of agents. See docs/decisions/0044-verified-identity.md
  agent_token_bytes_max: 8_192,
  token_issuers_per_organization_max: 20,
  chat_secret_chars_max: 256,
  /** How far the time of Slack's signature may be from the service's clock. */
  slack_signature_seconds_max: 300,
  slack_request_bytes_max: 65_536,
  chat_link_seconds: 600,
  push_devices_per_person_max: 10,
  token_audiences_max: 10,
  token_claim_chars_max: 512,
  token_claims_max: 20,
  token_leeway_seconds_max: 300,
  token_leeway_seconds_default: 30,
  /** Of a key set, pasted or fetched. */
  jwks_bytes_max: 65_536,
  jwks_keys_max: 100,
  jwks_timeout_ms: 2_000,
  jwks_fresh_seconds: 600,
  /** How long a key set remains valid after its last successful fetch. */
  jwks_kept_seconds: 86_400,
  /** Minimum time between two fetches because of an unknown key. */
  jwks_unknown_key_seconds: 30,
  /** Minimum time between two fetches after a failure. */
  jwks_failure_seconds: 5,
  delegation_chain_max: 8,

  // Rate windows. Source: spec §8
  rate_window_seconds: 60,

  // Escalations and overrides. Source: spec §1, §8 rule 9
  override_hours: 24,
  approval_valid_seconds_default: 86_400,
  approval_valid_seconds_max: 2_592_000,
  escalation_timeout_seconds_default: 14_400,
  escalation_timeout_seconds_max: 2_592_000,
  escalation_reviewers_max: 50,
  escalation_quorum_max: 10,
  // Pace of reviewers. See docs/decisions/0039-time-and-pace-of-reviews.md
  pace_window_seconds: 300,
  pace_min_seconds_max: 3_600,
  pace_reason_from_max: 1_000,
  /** Letters and digits in a typed reason. */
  reason_characters_min: 3,
  /** A review with less time gets no reminders. */
  reminders_timeout_seconds_min: 600,
  /** Figures of pace count at most this many of the newest rulings. */
  pace_rulings_max: 50_000,
  escalations_pending_per_agent_max: 1_000,
  escalations_pending_per_key_max: 5_000,
  /** Comments of a review that are shown; the audit trail has all. */
  review_comments_max: 100,
  snooze_days_max: 30,
  // Causes that need attention. See docs/how-to/reviews.md
  attention_items_max: 100,
  attention_items_per_kind_max: 20,
  attention_rules_max: 20,
  attention_due_minutes: 15,

  // Freezes. See docs/decisions/0034-freezes.md
  freeze_reason_chars_max: 1_000,
  freezes_per_organization_max: 1_000,
  agent_purpose_chars_max: 1_000,
  agents_above_max: 8,
  agents_with_parent_max: 10_000,
  agent_decisions_read_max: 5_000,
  /** Newest actions of an agent. The list of agents compares the tools of these with the rules. */
  agent_tools_read_max: 100,
  unfreeze_request_hours: 24,
  /** A preview examines at most this many of the newest decisions. */
  freeze_preview_decisions_max: 50_000,

  // Adjustments of counters. See docs/how-to/limits.md
  /** More in one grant. */
  counter_grant_amount_max: 9_000_000_000,
  counter_grant_actions_max: 1_000_000,
  counter_request_hours: 24,
  membrane_request_hours: 24,

  // Erasure and retention. See docs/decisions/0065-erasure.md
  /** A shorter text would be found by chance. */
  erased_value_chars_min: 4,
  retention_days_max: 36_500,
  /** Of each kind, for what is due. */
  retention_counted_max: 10_000,
  legal_holds_max: 100,

  // Usage
  usage_months: 12,

  // Webhooks. Source: spec §6 rule 3 and §8 rule 9
  delivery_attempts_max: 3,
  delivery_wait_1_seconds: 5,
  delivery_wait_2_seconds: 25,
  delivery_attempt_timeout_ms: 10_000,
  delivery_answer_bytes_max: 65_536,
  webhooks_per_organization_max: 100,
  webhook_url_chars_max: 2_048,
  webhook_headers_max: 10,
  webhook_header_name_chars_max: 64,
  webhook_header_value_chars_max: 2_048,
  webhook_membranes_max: 100,
  webhook_failures_max: 1_000,
  webhook_health_hours_max: 720,
  webhook_overlap_seconds_max: 604_800,
  description_chars_max: 1_000,

  // Membranes and onboarding
  action_catalogue_max: 1_000,
  tool_parameters_max: 100,
  rules_off_max: 200,
  covered_actions_max: 200,
  missing_facts_max: 20,
  counted_contradictions_max: 10_000,

  // Readiness: what a membrane must have shown in shadow
  readiness_days: 31,
  readiness_decisions_min: 200,
  /** A week, so that weekends are seen, too. */
  readiness_days_min: 7,
  /** Of the actions that would be held. */
  readiness_missing_facts_share_max: 0.1,
  /** Of a day, for each person who may review. */
  readiness_review_hours_max: 2,
  /** Seconds that a review takes as long as none was measured. */
  readiness_review_seconds_default: 300,
  /** Of the labelled holds. */
  readiness_false_holds_share_max: 0.05,
  /** The newest holds from which the sample is drawn. */
  readiness_holds_max: 5_000,
  readiness_sample_max: 20,
  readiness_listed_max: 20,
  /** Days that the backtest of a policy must cover, and the age in hours after which it no longer counts. */
  policy_readiness_days: 7,
  policy_readiness_hours: 24,
  /** A policy that agrees with fewer rulings of people, 95 % sure, is not ready. */
  policy_readiness_agreement_min: 0.9,

  // Rollouts
  rollout_stages_max: 10,
  rollout_decisions_max: 1_000_000,
  rollout_hours_max: 2_160,
  intake_tools_max: 200,
  asked_tools_max: 1_000,
  onboarding_text_chars_max: 10_000,
  email_chars_max: 254,

  // Policies
  policy_document_bytes_max: 65_536,
  policy_message_bytes_max: 2_048,
  policy_cost_budget: 100_000,
  // A policy that exceeds the cost budget with content of this size is refused when it is saved.
  policy_items_declared: 200,
  policy_text_chars_declared: 1_024,
  policy_values_declared: 2_500,
  policy_text_total_declared: 16_384,

  // Counters of policies. See docs/decisions/0047-counters.md
  /** Of an organization, over all counters and modes. A further key holds its actions. */
  counter_keys_max: 1_000_000,
  /** Actions of one key within its window. Above this the counter is unknown. */
  counter_actions_per_key_max: 100_000,
  /** Of the canonical text of a key. */
  counter_key_chars_max: 1_024,
  counter_window_seconds_min: 60,
  counter_window_seconds_max: 7_776_000,
  /** Below 2^33, because above it doubles are further apart than a millionth. */
  counter_amount_max: 8_000_000_000,

  // Backtests
  backtest_intents_max: 1_000_000,
  backtest_policies_max: 1_000,
  backtest_flips_max: 1_000,
  backtest_unknown_facts_max: 200,
  backtest_asking_policies_max: 5,
  backtest_flip_groups_max: 100,
  backtest_flip_examples_max: 5,
  /** Of an organization. A further one takes the place of the oldest. */
  backtests_kept_max: 100,
  backtest_kept_days: 90,
  backtest_kept_flips_max: 100,
  backtests_waiting_max: 8,
  backtests_per_organization_max: 2,
  /** After this time a backtest stops if another organization waits. */
  backtest_turn_minutes: 15,

  // People
  password_chars_min: 10,
  password_chars_max: 1_024,
  session_idle_seconds: 86_400,
  session_lifetime_seconds: 604_800,
  /** Maximum age of a session that may register an authenticator or a passkey. */
  session_fresh_seconds: 900,
  session_mfa_seconds: 600,
  /** Wrong codes or passwords in one session. */
  session_mfa_failures_max: 5,
  /** For all unfinished logins of one person. */
  person_mfa_failures_max: 15,
  signup_link_seconds: 86_400,
  password_link_seconds: 3_600,
  /** Time between two mails with such a link to one address. */
  password_mail_every_seconds: 60,
  invitation_link_seconds: 604_800,
  recovery_codes: 10,
  people_per_organization_max: 1_000,
  /** Each invitation sends a mail to an address that a caller chose. */
  open_invitations_per_organization_max: 100,
  /** Ids in `made` of a removal, and entries in its 409. */
  made_choices_max: 1_000,
  /** Per day (UTC), for an organization without people, because nobody confirmed an address. */
  unconfirmed_invitations_per_organization_max: 5,
  /** Per day (UTC) and client address, for all such organizations together. */
  unconfirmed_invitations_per_source_max: 500,
  /**
   * To one address, for all callers together; invitations and signups count separately. Further mails wait for the next
   * minute.
   */
  link_mails_per_minute_max: 3,
  /** Signup mails that wait longer are dropped, because strangers can request any number. */
  signup_mail_wait_seconds_max: 600,
  passkeys_per_person_max: 20,
  passkey_challenge_seconds: 300,
  /** How old a confirmed ruling may be. */
  ruling_challenge_seconds: 300,
  sso_domains_max: 20,
  sso_login_seconds: 600,
  sso_location_chars_max: 8_192,

  // Running
  shutdown_seconds_max: 10,
} as const;

/** Rate categories: requests per window, operations, and how requests are grouped. Source: spec §8. */
export const rateCategories = {
  intents: { requests_max: 120, applies_to: "`POST /v1/intents` and `POST /v1/intents/batch`", counted_by: "key" },
  backtest: { requests_max: 5, applies_to: "`POST /v1/learning/backtest`", counted_by: "key" },
  onboarding: {
    requests_max: 10,
    applies_to: "`POST /v1/onboarding/quickstart` and `POST /v1/onboarding/intake`",
    counted_by: "key",
  },
  authentication: {
    requests_max: 5,
    applies_to: "`POST /v1/auth/login`, `POST /v1/auth/signup` and `POST /v1/auth/mfa/verify`",
    counted_by: "ip",
  },
  general: { requests_max: 120, applies_to: "every other operation under /v1", counted_by: "key" },
} as const satisfies Record<string, { requests_max: number; applies_to: string; counted_by: "key" | "ip" }>;

/** Also the policy name in the RateLimit headers. */
export type RateCategory = keyof typeof rateCategories;
