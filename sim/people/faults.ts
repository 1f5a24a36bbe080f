type Passage = readonly [right: string, wrong: string];

/** A one-line mistake. `seed` is the first world that notices it. */
export interface PeopleFault {
  readonly name: string;
  readonly seed: number;
  readonly within: "commit" | "operations";
  readonly right: string;
  readonly wrong: string;
  /** A second passage, for promises with two guards. */
  readonly also?: Passage;
  /** Worlds that show it. `freezing` also freeze; `ruling` also change rules, claim and withdraw; `all` do both. */
  readonly worlds?: "freezing" | "ruling" | "all";
}

export const peopleFaults: readonly PeopleFault[] = [
  {
    within: "operations",
    name: "rulings and overrides ignore freezes",
    seed: 1,
    right: "from freezes f where f.org_id = $1) as freezes",
    wrong: "from freezes f where f.org_id = $1 and f.mode = '') as freezes",
    worlds: "freezing",
  },
  {
    within: "commit",
    name: "a spent override stays valid",
    seed: 1,
    right: "set status = 'consumed', consumed_by",
    wrong: "set consumed_by",
  },
  {
    within: "commit",
    name: "a spent override is not detected",
    seed: 1,
    right: "and o.status = 'active' and o.expires_at > clock_timestamp())",
    wrong: "and o.expires_at > clock_timestamp())",
  },
  {
    within: "operations",
    name: "a closed review changes nothing in its decision",
    seed: 1,
    right: "resolution = $8::json",
    wrong: "resolution = case when false then $8::json end",
  },
  {
    within: "operations",
    name: "events are dropped",
    seed: 1,
    right: "from json_to_recordset($4::json) as r",
    wrong: "from json_to_recordset(case when false then $4::json else '[]' end) as r",
  },
  {
    within: "operations",
    name: "nodes that cached the old context source do not detect a new one",
    seed: 1,
    right: "when $9::boolean then",
    wrong: "when $9::boolean and false then",
  },
  {
    within: "operations",
    name: "no deadline ever passes",
    seed: 7,
    right: "status = 'pending' and expires_at <= clock_timestamp() and escalation_id <> all",
    wrong: "false and escalation_id <> all",
  },
  {
    within: "operations",
    name: "each key counts as a person",
    seed: 22,
    right: "select key_id, name, role, person from api_keys",
    wrong: "select key_id, name, role, key_id as person from api_keys",
  },
  {
    within: "operations",
    name: "nobody created a key",
    seed: 3,
    right: "where k.created_by is not null",
    wrong: "where false",
  },
  {
    within: "operations",
    name: "an override is valid for any action",
    seed: 2,
    right: "and o.fingerprint = decode($2, 'hex')",
    wrong: "and $2::text is not null",
  },
  {
    within: "operations",
    name: "an override is valid in any mode",
    seed: 2,
    right: "and o.mode = $3\n       and o.status = 'active'",
    wrong: "and $3::text is not null\n       and o.status = 'active'",
  },
  {
    within: "operations",
    name: "revoking changes nothing",
    seed: 6,
    right: "update overrides set status = 'revoked' where org_id = $1 and override_id",
    wrong: "update overrides set reason = reason where org_id = $1 and override_id",
  },
  {
    within: "operations",
    name: "a claim is not stored",
    seed: 1,
    right: "values ($1, $2, decode($3, 'hex'), $4, $5, $6::timestamptz, $7::bigint)",
    wrong: "select $1, $2, decode($3, 'hex'), $4, $5, $6::timestamptz, $7::bigint where false",
    worlds: "ruling",
  },
  {
    within: "operations",
    name: "nodes do not detect changed rules",
    seed: 1,
    right: `policy_epoch = policy_epoch + $8::integer, context_epoch = case when $9::boolean then`,
    wrong: `policy_epoch = policy_epoch + 0 * $8::integer, context_epoch = case when $9::boolean and false then`,
    worlds: "ruling",
  },
  {
    within: "commit",
    name: "decisions are committed although rules changed",
    seed: 1,
    right: `(asked_auth, asked_policy, asked_context) is distinct from
    (head.auth_epoch, head.policy_epoch, head.context_epoch)`,
    wrong: "asked_auth is distinct from head.auth_epoch",
    worlds: "ruling",
  },
  {
    within: "operations",
    name: "panels do not store who approved",
    seed: 1,
    right: "demands = $7::json",
    wrong: "demands = coalesce(demands, $7::json)",
    worlds: "ruling",
  },
  {
    within: "operations",
    name: "one person is enough for an override by two",
    seed: 6,
    right: `$7, $8, $9::json, $10::json, $11, $12::timestamptz,
       case $7 when 'active' then $12::timestamptz end, case $7 when 'active' then $12::timestamptz + interval '24 hours' end`,
    wrong: `case when $7 = '' then '' else 'active' end, $8, $9::json, $10::json, $11, $12::timestamptz,
       $12::timestamptz, $12::timestamptz + interval '24 hours'`,
    worlds: "ruling",
  },
  {
    within: "operations",
    name: "reviews count as opened under any freeze",
    seed: 5,
    right: "and l.seq <= f.since_seq",
    wrong: "and l.seq <= f.since_seq and false",
    worlds: "all",
  },
  {
    // Each of the two guards alone keeps the promise.
    within: "operations",
    name: "a closed review can move",
    seed: 1,
    right: "select record, ruling, demands from escalations",
    wrong: `select jsonb_set(record::jsonb, '{status}', '"pending"')::json as record, ruling, demands from escalations`,
    also: [
      "where org_id = $1 and escalation_id = $2 and status = 'pending'",
      "where org_id = $1 and escalation_id = $2",
    ],
    worlds: "ruling",
  },
  {
    within: "operations",
    name: "an approval that was passed on has no holder",
    seed: 11,
    right: "set approval_holder = $3",
    wrong: "set approval_holder = case when $3 = '' then '' end",
    worlds: "ruling",
  },
  {
    within: "operations",
    name: "a claimed approval stays usable by others",
    seed: 1,
    right: "approval_holder = $3, approval_spent = $4",
    wrong: "approval_holder = null, approval_spent = $3 = '' and $4",
    worlds: "ruling",
  },
];
