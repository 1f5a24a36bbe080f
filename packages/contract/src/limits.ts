/** Every number of the contract and of the API design, unit last in the name. Nothing else holds a copy. */

export const limits = {
  // Bodies. Source: api.md §2
  body_bytes_max: 1_048_576,
  batch_body_bytes_max: 8_388_608,
  /** Of what somebody without a key or a session sends to sign up or in, and of what nobody has to send. */
  small_body_bytes_max: 16_384,
  json_depth_max: 32,
  /**
   * Of a body, and of each item of a batch: its commas and opening brackets, about as many as it has values. The work on a body grows
   * with them, whatever their bytes. The 1,200 facts of a submission leave 8,800 for its content.
   */
  json_values_max: 10_000,
  /** Of a membrane: 1,000 known tools with some fifteen data classes each. */
  membrane_values_max: 20_000,
  /** Of an item of a batch, which fails alone beyond `json_depth_max`. Beyond this, it fails all. */
  batch_json_depth_max: 1_000,
  error_details_max: 50,
  /** Of larger bodies only the first problem of their shape is told. */
  problems_collected_bytes_max: 16_384,
  idempotency_key_chars_max: 255,
  idempotency_kept_hours_min: 24,
  /** Nothing but its Idempotency-Key proves that a repeated quickstart is the same caller's, so nobody may guess the key. */
  quickstart_idempotency_key_bits_min: 128,
  quickstart_repeated_seconds_max: 600,
  /** Of an intake that no quickstart took up. */
  intake_kept_days: 30,
  id_chars_max: 128,

  // Lists. Source: api.md §2
  list_limit_default: 50,
  list_limit_max: 200,
  cursor_chars_max: 512,

  // Intents. Source: contract §8 rule 5, api.md §4
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

  // Grants. Source: docs/decisions/0045
  grant_times_max: 1_000,
  grant_hours_max: 720,
  grant_bounds_max: 5,
  /** Live grants of one agent and verb. */
  grants_live_max: 50,

  // Claims. Source: docs/decisions/0036
  claim_nonce_chars_max: 255,
  claim_unknown_after_seconds: 900,

  // Keys. Source: contract §2.2 and §8 rule 11, api.md §3
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

  // Context. Source: contract §2.9 and §8 rule 10, api.md §5
  context_keys_per_category_max: 200,
  context_key_chars_max: 64,
  as_of_ahead_seconds_max: 300,
  /** Ten years, as in policies: times beyond could not be written any more. */
  facts_max_age_seconds_max: 316_224_000,
  facts_from_max: 100,
  context_source_timeout_ms_max: 1_000,
  context_source_answer_bytes_max: 262_144,
  context_source_pulls_max: 16,
  context_source_kept_seconds_max: 60,
  context_source_failures_max: 5,
  context_source_pause_seconds: 5,

  // Rate windows. Source: contract §8
  rate_window_seconds: 60,

  // Escalations and overrides. Source: contract §1, §8 rule 9; api.md §6
  override_hours: 24,
  approval_valid_seconds_default: 86_400,
  approval_valid_seconds_max: 2_592_000,
  escalation_timeout_seconds_default: 14_400,
  escalation_timeout_seconds_max: 2_592_000,
  escalation_reviewers_max: 50,
  escalation_quorum_max: 10,
  // Pace of reviewers. Source: docs/decisions/0039
  pace_window_seconds: 300,
  pace_min_seconds_max: 3_600,
  pace_reason_from_max: 1_000,
  /** Letters and digits that a typed reason has at least. */
  reason_characters_min: 3,
  /** A review with less time gets no reminders. */
  reminders_timeout_seconds_min: 600,
  /** The newest rulings of an organization that its figures of pace count. */
  pace_rulings_max: 50_000,
  escalations_pending_per_agent_max: 1_000,
  escalations_pending_per_key_max: 5_000,

  // Freezes. Source: docs/decisions/0034
  freeze_reason_chars_max: 1_000,
  freezes_per_organization_max: 1_000,
  unfreeze_request_hours: 24,
  /** Newest decisions of the organization among which a preview counts. */
  freeze_preview_decisions_max: 50_000,

  // Webhooks. Source: contract §6 rule 3 and §8 rule 9; api.md §8
  delivery_attempts_max: 3,
  delivery_wait_1_seconds: 5,
  delivery_wait_2_seconds: 25,
  delivery_attempt_timeout_ms: 10_000,
  delivery_answer_bytes_max: 65_536,
  webhooks_per_organization_max: 100,
  webhook_url_chars_max: 2_048,
  description_chars_max: 1_000,

  // Membranes and onboarding. Source: api.md §10
  action_catalogue_max: 1_000,
  tool_parameters_max: 100,
  rules_off_max: 200,
  covered_actions_max: 200,
  missing_facts_max: 20,
  counted_contradictions_max: 10_000,
  intake_tools_max: 200,
  onboarding_text_chars_max: 10_000,
  email_chars_max: 254,

  // Policies. Source: policies.md §1 and §2
  policy_document_bytes_max: 65_536,
  policy_message_bytes_max: 2_048,
  policy_cost_budget: 100_000,
  // What a policy must be able to work on within the budget; it is refused at save otherwise.
  policy_items_declared: 200,
  policy_text_chars_declared: 1_024,
  policy_values_declared: 2_500,
  policy_text_total_declared: 16_384,

  // Backtests. Source: api.md §10
  backtest_intents_max: 1_000_000,
  backtest_policies_max: 1_000,
  backtest_flips_max: 1_000,
  backtest_unknown_facts_max: 200,
  backtests_waiting_max: 8,
  backtests_per_organization_max: 2,
  /** Then one that runs makes room, where another organization waits. */
  backtest_turn_minutes: 15,

  // People. Source: api.md §9
  password_chars_min: 10,
  password_chars_max: 1_024,
  session_idle_seconds: 86_400,
  session_lifetime_seconds: 604_800,
  /** How young a session must be to register another way in (authenticator, passkey). */
  session_fresh_seconds: 900,
  session_mfa_seconds: 600,
  /** Wrong codes and, to set another, wrong current passwords. */
  session_mfa_failures_max: 5,
  /** Of all logins of one person that could still be going on. */
  person_mfa_failures_max: 15,
  signup_link_seconds: 86_400,
  password_link_seconds: 3_600,
  /** Between two mails with such a link to one address. */
  password_mail_every_seconds: 60,
  invitation_link_seconds: 604_800,
  recovery_codes: 10,
  people_per_organization_max: 1_000,
  /** Those that can still be accepted. Each is a mail to an address that somebody named. */
  open_invitations_per_organization_max: 100,
  /** Ids in `made` of a removal, and things that its 409 lists. */
  made_choices_max: 1_000,
  /** Per day (UTC), of an organization that no person has joined yet: nobody has confirmed an address. */
  unconfirmed_invitations_per_organization_max: 5,
  /** Per day (UTC), from one client address, of all such organizations together. */
  unconfirmed_invitations_per_source_max: 500,
  /** To one address, of invitations and of signups each, whoever asks for them: more wait for the next minute. */
  link_mails_per_minute_max: 3,
  /** A signup's mail that had to wait for longer is dropped: strangers can ask for any number, and waiting ones take work. */
  signup_mail_wait_seconds_max: 600,
  passkeys_per_person_max: 20,
  passkey_challenge_seconds: 300,
  sso_domains_max: 20,
  sso_login_seconds: 600,
  /** Of the address that a browser is sent to. */
  sso_location_chars_max: 8_192,

  // Running. Source: api.md §1
  shutdown_seconds_max: 10,
} as const;

/** The rate categories: how many requests a caller has in a window, what the category covers, for whom it counts. Source: contract §8. */
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

/** A rate category; its name is also the policy name in the RateLimit headers. */
export type RateCategory = keyof typeof rateCategories;
