/** One-line mistakes in the statements behind what people decide; the simulation has to notice each. */

/**
 * A mistake by name. Exactly one statement changes: one in `commit_decisions`, or one of the operations'. `seed` is the first world
 * that notices it.
 */
export interface PeopleFault {
  readonly name: string;
  readonly seed: number;
  readonly right: string;
  readonly wrong: string;
  readonly within: "commit" | "operations";
  /** Shows only in worlds in which people freeze. */
  readonly freezes?: true;
}

/** Every planted fault. */
export const peopleFaults: readonly PeopleFault[] = [
  {
    within: "operations",
    name: "rulings and overrides overlook freezes",
    seed: 1,
    right: "from freezes f where f.org_id = $1) as freezes",
    wrong: "from freezes f where f.org_id = $1 and f.mode = '') as freezes",
    freezes: true,
  },
  {
    within: "commit",
    name: "a spent override stays good",
    seed: 1,
    right: "set status = 'consumed', consumed_by",
    wrong: "set consumed_by",
  },
  {
    within: "commit",
    name: "a spent override is not noticed",
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
    name: "a new context source is not noticed by nodes that know the old one",
    seed: 1,
    right: "when $9::boolean then",
    wrong: "when $9::boolean and false then",
  },
  {
    within: "operations",
    name: "nothing is ever overdue",
    seed: 7,
    right: "status = 'pending' and expires_at <= clock_timestamp() and escalation_id <> all",
    wrong: "false and escalation_id <> all",
  },
  {
    within: "operations",
    name: "each key is a person",
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
    name: "an override is good for any action",
    seed: 2,
    right: "and fingerprint = decode($2, 'hex')",
    wrong: "and $2::text is not null",
  },
  {
    within: "operations",
    name: "an override is good in any mode",
    seed: 2,
    right: "and mode = $3\n       and status = 'active'",
    wrong: "and $3::text is not null\n       and status = 'active'",
  },
  {
    within: "operations",
    name: "revoking changes nothing",
    seed: 6,
    right: "update overrides set status = 'revoked' where org_id = $1 and override_id",
    wrong: "update overrides set reason = reason where org_id = $1 and override_id",
  },
];
