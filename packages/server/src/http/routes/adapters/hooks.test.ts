import { beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../../../testing/database/database.ts";
import { call } from "../../../testing/nodes/http-node.ts";
import { serviceNode } from "../../../testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../../testing/people/review.ts";

const database = await testDatabase();
let url: string;
let org: Reviewed;
beforeAll(async () => {
  ({ url } = await serviceNode(database));
  org = await reviewedOrganization(database.db, url, { packs: ["coding"], default_verdict: "approve" });
});

let calls = 0;
const bash = (command: string, more: object = {}) => {
  calls += 1;
  const tool_input = { command, description: "Do it" };
  return {
    ...{ session_id: "s-1", tool_use_id: `toolu_${calls}`, cwd: "/home/me/app", tool_name: "Bash", tool_input },
    ...more,
  };
};
type Call = ReturnType<typeof bash>;
const ask = (given: Call, { key = org.agent, query = "?wait=0", event = "PreToolUse", more = {} } = {}) =>
  call(url, "POST", `/v1/hooks/claude-code${query}`, { key, body: { ...given, hook_event_name: event, ...more } });
const output = (answer: Awaited<ReturnType<typeof ask>>) => answer.json.hookSpecificOutput;
const newest = async () => (await call(url, "GET", "/v1/intents?limit=1", { key: org.admin })).json.intents[0];
const rule = async (decision: "approve" | "block", more: object = {}) => {
  const { escalations } = (await call(url, "GET", "/v1/escalations?status=pending", { key: org.reviewer })).json;
  const path = `/v1/escalations/${escalations[0].escalation_id}/decision`;
  const ruled = await call(url, "POST", path, { key: org.reviewer, body: { outcome: decision, ...more } });
  expect(ruled.status, ruled.text).toBe(200);
};

async function activate(name: string, spec: object): Promise<void> {
  const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
  const created = await call(url, "POST", "/v1/policies", { key: org.admin, body: { policy } });
  expect(created.status, created.text).toBe(201);
  const path = `/v1/policies/${created.json.policy.policy_id}/activate`;
  expect((await call(url, "POST", path, { key: org.admin, body: { mode: "live" } })).status).toBe(200);
}

describe("POST /v1/hooks/claude-code", () => {
  test("200 allows an approved call, claims it, and records its outcome", async () => {
    const one = bash("npm test");
    const answer = await ask(one);
    expect(answer.status).toBe(200);
    expect(output(answer)).toMatchObject({ hookEventName: "PreToolUse", permissionDecision: "allow" });
    const intent = await newest();
    expect(intent).toMatchObject({
      agent: { id: "claude-code", framework: "claude-code", session_id: "s-1" },
      action: { verb: "Bash", type: "code.execute" },
      payload: { summary: "Do it", content: { command: "npm test", cwd: "/home/me/app", workspace: "/home/me/app" } },
      execution: { status: "claimed" },
    });
    const after = await ask(one, { event: "PostToolUse", more: { tool_response: { stdout: "ok" } } });
    expect([after.status, after.json]).toEqual([200, {}]);
    expect((await newest()).execution.status).toBe("executed");
  });

  test("200 records a failure, and ignores the outcome of a call that it never saw", async () => {
    const one = bash("npm run lint");
    await ask(one);
    expect((await ask(one, { event: "PostToolUseFailure", more: { error: "exit 1" } })).status).toBe(200);
    expect((await newest()).execution.status).toBe("failed");
    expect((await ask(bash("ls"), { event: "PostToolUse" })).status).toBe(200);
  });

  test("200 denies a blocked call with the rule's reason, and says not to retry", async () => {
    const answer = await ask(bash("rm -rf /"));
    expect(answer.status).toBe(200);
    expect(output(answer).permissionDecision).toBe("deny");
    expect(output(answer).permissionDecisionReason).toMatch(/^Blocked by Countersign, .*coding\.wipe: .*Do not retry/);
  });

  test("200 allows a changed call with the new parameters, without those that the service added", async () => {
    const modify = [{ op: "set", path: "/command", value: '"npm ci --ignore-scripts"' }];
    await activate("no-scripts", {
      match: { verbs: ["Bash"] },
      when: 'params.command == "npm ci"',
      effect: "approve_modified",
      modify,
    });
    const answer = await ask(bash("npm ci"));
    const updatedInput = { command: "npm ci --ignore-scripts", description: "Do it" };
    expect(output(answer)).toMatchObject({ permissionDecision: "allow", updatedInput });
    expect(output(answer).additionalContext).toContain("npm ci --ignore-scripts");
    expect(output(await ask(bash("npm ci"), { query: "?wait=0&prompts=keep" })).permissionDecision).toBe("ask");
  });

  test("202 denies a held call, and the same call then continues the same review", async () => {
    const first = bash("git push origin feature/a");
    const held = await ask(first);
    expect(held.status).toBe(202);
    expect(output(held).permissionDecision).toBe("deny");
    expect(output(held).permissionDecisionReason).toMatch(/^Waiting for approval, .*make exactly the same call again/);
    const again = bash("git push origin feature/a", {
      tool_input: { command: "git push origin feature/a", description: "Other words" },
    });
    expect((await ask(again)).status).toBe(202);
    const open = await call(url, "GET", "/v1/escalations?status=pending", { key: org.reviewer });
    expect(open.json.escalations).toHaveLength(1);
    await rule("approve", { message_to_agent: "Only this branch." });
    const allowed = await ask(again);
    expect(allowed.status).toBe(200);
    expect(output(allowed)).toMatchObject({
      permissionDecision: "allow",
      additionalContext: "The person who approved this call says to you: Only this branch.",
    });
    // The approval is for one call.
    expect((await ask(bash("git push origin feature/a"))).status).toBe(202);
    await rule("block");
  });

  test("200 denies a held call that a reviewer refused while the hook waits", async () => {
    const waiting = ask(bash("npm install left-pad"), { query: "?wait=50" });
    await expect.poll(async () => (await newest()).payload.content.command).toBe("npm install left-pad");
    await rule("block", { message_to_agent: "Use our own." });
    const answer = await waiting;
    expect(answer.status).toBe(200);
    expect(output(answer).permissionDecisionReason).toMatch(/A reviewer decided against it.*Use our own\./);
  });

  test("200 leaves a call to Claude Code's own permissions in shadow mode and with prompts=keep", async () => {
    expect((await ask(bash("rm -rf /"), { query: "?wait=0&mode=shadow" })).json).toEqual({});
    expect((await ask(bash("git status"), { query: "?wait=0&prompts=keep" })).json).toEqual({});
  });

  test("200 denies a call that cannot be decided", async () => {
    const one = bash("ls");
    await ask(one);
    const other = await ask({ ...one, tool_input: { command: "ls -la", description: "x" } });
    expect([other.status, output(other).permissionDecision]).toEqual([200, "deny"]);
    expect(output(other).permissionDecisionReason).toContain("(idempotency_conflict)");
    const unknown = await ask(bash("ls"), { query: "?wait=0&membrane_id=mem_none" });
    expect([unknown.status, output(unknown).permissionDecision]).toEqual([200, "deny"]);
  });

  test("the command of a skill is decided without a claim, because nobody reports its outcome", async () => {
    const allowed = await ask(bash("git log"), { event: "PreSkillShellCommand" });
    expect(output(allowed)).toMatchObject({ hookEventName: "PreSkillShellCommand", permissionDecision: "allow" });
    expect((await newest()).execution?.status ?? "none").toBe("none");
    expect(output(await ask(bash("npm ci"), { event: "PreSkillShellCommand" })).permissionDecision).toBe("deny");
  });

  test("takes the key as bearer token", async () => {
    const body = { ...bash("npm run build"), hook_event_name: "PreToolUse" };
    const headers = { Authorization: `Bearer ${org.agent}` };
    const answer = await call(url, "POST", "/v1/hooks/claude-code?wait=0", { body, headers });
    expect([answer.status, output(answer).permissionDecision]).toEqual([200, "allow"]);
  });

  test("400 for a body that is no hook, 401 without a key, 403 for a key that does not submit", async () => {
    expect((await ask(bash("ls"), { event: "Stop" })).status).toBe(400);
    expect((await ask(bash("ls"), { key: "svc_live_org_0000000000000000000000000000000000000000" })).status).toBe(401);
    expect((await ask(bash("ls"), { key: org.reviewer })).status).toBe(403);
  });
});
