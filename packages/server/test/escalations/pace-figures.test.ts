/** Source: docs/reference/reviews.md. */
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../src/testing/people/review.ts";

const database = await testDatabase();
let url: string;
let org: Reviewed;

const day_seconds = 86_400;

/** Inserts a ruling made `ago` seconds ago, `seconds` after the person saw the case. */
const ruled = (person: string, ago: number, seconds: number | null, approved = true, fast = false) =>
  database.db.query(
    `insert into reviewer_times (org_id, escalation_id, person, ruled_at, shown_at, approved, fast)
     select $1, gen_random_uuid()::text, $2, at, at - make_interval(secs => $4::integer), $5::boolean, $6::boolean
     from (select now() - make_interval(secs => $3::integer) as at) t`,
    [org.org.org_id, person, ago, seconds, approved, fast],
  );
const read = async (key: string) => (await call(url, "GET", "/v1/reviewers/pace", { key })).json.pace;
const change = (body: object, key = org.admin) => call(url, "PATCH", "/v1/organization", { key, body });

beforeAll(async () => {
  ({ url } = await serviceNode(database));
  org = await reviewedOrganization(database.db, url);
});

test("admins see everybody, others only themselves, and at team level everybody sees the totals", async () => {
  const own = (await call(url, "GET", "/v1/me", { key: org.reviewer })).json.caller.person;
  for (const seconds of [4, 10, 60]) await ruled(own, day_seconds, seconds, seconds !== 60, seconds === 4);
  await ruled(own, 8 * day_seconds, null);
  await ruled(own, 31 * day_seconds, 1_000);
  await ruled("usr_other", 2 * day_seconds, 20);

  const reviewer = {
    last_7_days: { rulings: 3, approvals: 2, fast: 1, approval_share: 2 / 3, median_seconds: 10 },
    last_30_days: { rulings: 4, approvals: 3, fast: 1, approval_share: 0.75, median_seconds: 10 },
  };
  const all = await read(org.admin);
  expect(all).toMatchObject({ level: "person", is_complete: true });
  expect(all.people).toMatchObject([
    { person: own, email: null, ...reviewer },
    { person: "usr_other", last_7_days: { rulings: 1, approval_share: 1, median_seconds: 20 } },
  ]);
  expect(all.team).toMatchObject({ last_7_days: { rulings: 4, approvals: 3, median_seconds: 15 } });

  const mine = await read(org.reviewer);
  expect([mine.team, mine.people]).toEqual([null, [{ person: own, email: null, ...reviewer }]]);
  expect(await read(org.operator)).toMatchObject({ team: null, people: [] });

  expect((await change({ reviewer_figures: "team" }, org.operator)).status).toBe(403);
  const { organization } = (await change({ reviewer_figures: "team" })).json;
  expect(organization).toMatchObject({ reviewer_figures: "team", unfreeze_needs_second_person: false });
  for (const key of [org.admin, org.reviewer])
    expect(await read(key)).toMatchObject({ level: "team", team: all.team, people: [] });
  expect((await change({})).status).toBe(400);
  expect((await change({ reviewer_figures: "nobody" })).status).toBe(400);
});

test("without a ruling the share and the median are null", async () => {
  const { admin } = await reviewedOrganization(database.db, url);
  const nothing = { rulings: 0, approvals: 0, fast: 0, approval_share: null, median_seconds: null };
  expect(await read(admin)).toMatchObject({ team: { last_7_days: nothing, last_30_days: nothing }, people: [] });
});
