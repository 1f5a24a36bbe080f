import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../../../../scripts/property-runs.ts";
import { classifyTool } from "./classify-tool.ts";
import { accountFacts, confirm_below, intake, startingFacts } from "./intake.ts";
import { packSignals } from "./pack-signals.ts";
import { text_chars_max } from "./words.ts";

const packs = (description: string, more: object = {}): string[] =>
  intake({ description, ...more }).recommended_packs.map(({ pack }) => pack);

describe("recommended packs", () => {
  test("a healthcare call centre in Texas and California gets hipaa, tcpa, ccpa and pci with the words that led there", () => {
    const { recommended_packs } = intake({
      description: "healthcare call centre with AI agents for billing and scheduling in Texas and California",
    });
    expect(recommended_packs.map(({ pack }) => pack)).toEqual(["hipaa", "tcpa", "ccpa", "pci"]);
    const because = Object.fromEntries(recommended_packs.map((one) => [one.pack, one.because]));
    expect(because["hipaa"]).toContain('"healthcare"');
    expect(because["tcpa"]).toContain('"call centre"');
    expect(because["tcpa"]).toContain('"Texas"');
    expect(because["ccpa"]).toContain('"California"');
    expect(because["pci"]).toContain('"billing"');
  });

  test.each([
    ["Call-Center bots for hospitals", ["hipaa", "tcpa"]],
    ["We run a webshop in Germany", ["pci", "gdpr"]],
    ["We run a webshop in Germany; we do not store card data and take no payments", ["pci", "gdpr"]],
    ["A blog about gardening, no payments and no patients", []],
    ["Online therapy app in France with therapists", ["gdpr"]],
    ["HIPAA-covered clinic in Canada", ["hipaa"]],
    ["call centre in Canada", []],
    ["University registrar helpdesk", ["ferpa"]],
    ["month-end close and journal entries for a public company", ["sox"]],
    ["Screening loan applicants with credit scoring", ["ai"]],
    ["DevOps agents deploying to Kubernetes for a federal agency", ["fedramp", "csf"]],
    ["defense contractor handling CUI", ["cmmc"]],
    ["An agent that triages the inbox", ["provenance"]],
    ["hello", []],
    ["US bank: agents approve loans and wire money", ["ai", "iam"]],
    ["Dental clinic in Austin, voice agents remind of appointments", ["hipaa", "tcpa"]],
    ["Support desk in Dublin", ["gdpr"]],
    ["Call centre in London", []],
    ["Robocalls from Chicago and the Bay Area", ["tcpa", "ccpa"]],
    ["Mortgage lender in Toronto", ["ai"]],
    ["We train machine learning models", ["ai"]],
    ["An app for kindergartens in Ohio", ["ferpa"]],
    ["We take no payments. Hospitals use our scheduler", ["hipaa"]],
    ["No patients, payments or calls - we sort the inbox", ["provenance"]],
    ["Not a school: a hospital", ["hipaa"]],
    ["Runs in our FedRAMP Moderate cloud", ["fedramp"]],
    ["An agent in AWS GovCloud", ["fedramp"]],
    ["A contractor of the DoD", ["cmmc"]],
    ["No FedRAMP and no DoD data", []],
    ["We never process health data, nor payments; agents pay vendors", ["iam"]],
    ["An agent that pays invoices and answers mail", ["iam", "provenance"]],
    ["Summarises therapy notes for psychologists", ["hipaa"]],
    ["Intake for pediatric urgent care and nursing homes", ["hipaa"]],
    ["Mails Norwegian and Swedish customers", ["gdpr"]],
    ["An agent with function calling that books hotels", []],
    ["Calling consumers in Ohio", ["tcpa"]],
    ["An AI voice for dental practices", ["hipaa", "tcpa"]],
    ["CV screening in Dublin", ["gdpr", "ai"]],
  ])("%j: %j", (description, expected) => {
    expect(packs(description)).toEqual(expected);
  });

  test.each([
    [{ regions: ["US-CA"] }, ["ccpa"]],
    [{ regions: ["DE", "France"] }, ["gdpr"]],
    [{ data_classes: ["PHI", "chd", "cui"] }, ["hipaa", "pci", "cmmc"]],
    [{ industry: "Healthcare" }, ["hipaa"]],
    [{ industry: "Healthcare", regions: ["Japan"] }, []],
    [{ industry: "Healthcare", regions: ["Worldwide"] }, ["hipaa", "ccpa", "gdpr"]],
    [{ industry: "Education" }, ["ferpa"]],
    [{ industry: "Retail" }, ["pci"]],
    [{ industry: "Government", regions: ["UK"] }, []],
    [{ industry: "Government", regions: ["US"] }, ["fedramp"]],
    [{ industry: "Defense" }, ["cmmc"]],
    [{ regions: ["CA", "TX"] }, ["ccpa"]],
    [{ regions: ["CA", "UK", "AU"] }, []],
    [{ regions: ["eu-west-1"] }, ["gdpr"]],
    [{ regions: ["us-east-1"] }, []],
    [{ data_classes: ["medical records", "credit_card_numbers", "no student records"] }, ["hipaa", "pci"]],
    [{ tools: [{ name: "browser_click" }] }, []],
    [{ tools: [{ name: "place_call" }, { name: "deploy_service" }] }, ["tcpa", "csf", "mon"]],
    [{ tools: [{ name: "read_email" }, { name: "send_money" }] }, ["mon", "provenance", "limits"]],
    [{ tools: [{ name: "read_email" }] }, []],
  ])("from %j: %j", (more, expected) => {
    expect(packs("agents", more)).toEqual(expected);
  });

  test("every pack that quickstart does not switch on can be recommended by each of its phrases", () => {
    for (const { pack, names, phrases } of packSignals) {
      for (const phrase of [...names, ...phrases]) {
        expect(packs(`we use ${phrase} here`), phrase).toContain(pack);
      }
    }
  });
});

describe("the action catalogue", () => {
  test.each([
    ["send_email", "communication.email", 0.9],
    ["send_money", "payment.transfer", 0.9],
    ["schedule_transaction", "payment.transfer", 0.9],
    ["refund_payment", "payment.refund", 0.7],
    ["get_balance", "data.read", 0.9],
    ["list_refunds", "data.read", 0.9],
    ["update_password", "identity.grant", 0.9],
    ["createUser", "identity.grant", 0.9],
    ["revokeAccess", "identity.revoke", 0.9],
    ["delete_file", "record.delete", 0.7],
    ["purge_dataset", "data.delete", 0.9],
    ["share_file", "data.share", 0.9],
    ["add_calendar_event_participants", "data.share", 0.9],
    ["create_calendar_event", "record.create", 0.7],
    ["append_to_file", "record.update", 0.7],
    ["update_user_info", "record.update", 0.7],
    ["make_call", "communication.call", 0.9],
    ["sendSMS", "communication.sms", 0.9],
    ["post_message", "communication.chat", 0.9],
    ["runSQL", "system.change", 0.9],
    ["deploy_service", "system.deploy", 0.7],
    ["restore_backup", "system.recover", 0.9],
    ["post_journal_entry", "finance.journal", 0.9],
    ["screen_candidate", "model.decide", 0.9],
    ["train_model", "model.train", 0.9],
    ["export_report", "data.export", 0.7],
    ["foo", "other.unclassified", 0.1],
    ["bash", "system.change", 0.7],
    ["terraform_destroy", "system.change", 0.9],
    ["kubectl_apply", "system.change", 0.9],
    ["twilio_call", "communication.call", 0.9],
    ["load_money", "payment.transfer", 0.9],
    ["POST /payments", "payment.transfer", 0.9],
    ["upload", "data.share", 0.7],
  ])("%s is %s, confidence %d", (name, type, confidence) => {
    expect(classifyTool({ name })).toMatchObject({ verb: name, type, confidence });
  });

  test.each([
    ["check_and_charge_card", "payment.charge"],
    ["count_and_wire_money", "payment.transfer"],
    ["query_then_drop_table", "data.delete"],
    ["readAndDeleteEmail", "record.delete"],
    ["get_or_create_user", "identity.grant"],
    ["list_and_share_files", "data.share"],
  ])("a name that begins with a reading verb is what its further words say: %s is %s", (name, type) => {
    const tool = classifyTool({ name });
    expect(tool).toMatchObject({ type, because: expect.stringMatching(/^It reads, and more/) });
    expect(tool.confidence).toBeLessThan(0.9);
  });

  test.each([
    ["a name that goes on in unknown words", { name: "fetch_and_frobnicate" }],
    ["a description that begins otherwise", { name: "get_thing", description: "Sends an email to the customer" }],
    ["an annotation as destructive", { name: "list_things", annotations: { destructiveHint: true } }],
    ["an annotation as not only reading", { name: "list_things", annotations: { readOnlyHint: false } }],
  ])("a reading name is no read, and for a person to confirm, with %s", (_, tool) => {
    expect(classifyTool(tool).type).not.toBe("data.read");
    expect(classifyTool(tool).confidence).toBeLessThan(confirm_below);
  });

  test.each([
    { name: "read_and_list_email" },
    { name: "get_invoices", description: "Lists the invoices that we send to customers" },
    { name: "list_things", annotations: { readOnlyHint: true, destructiveHint: true } },
  ])("a tool that only reads stays one: %j", (tool) => {
    expect(classifyTool(tool)).toMatchObject({ type: "data.read", confidence: 0.9 });
  });

  test("tools of one name are one entry; if they differ, the one that acts counts and must be confirmed", () => {
    const tools = [
      { name: "handle", description: "Lists invoices" },
      { name: "pay" },
      { name: "handle", description: "Sends an email" },
      { name: "pay" },
      { name: "handle", description: "Shows a page" },
    ];
    const { action_catalogue, next_steps } = intake({ description: "x", tools });
    expect(action_catalogue).toMatchObject([
      { verb: "handle", type: "communication.email", confidence: 0.4 },
      { verb: "pay", type: "payment.transfer", confidence: 0.7 },
    ]);
    expect(next_steps.join("\n")).toMatch(/names are ambiguous: handle\./);
  });

  test.each([
    ["create_call", "communication.call"],
    ["stripe_create_charge", "payment.charge"],
    ["stripe_create_refund", "payment.refund"],
    ["add_payment", "payment.transfer"],
    ["make_deposit", "payment.transfer"],
    ["conversations_add_message", "communication.chat"],
    ["kubectl_delete", "system.change"],
    ["github_create_deployment", "system.deploy"],
  ])("a name whose further words do more than a record is not surely a record: %s", (name, type) => {
    const tool = classifyTool({ name });
    expect(tool.type).toBe(type);
    expect(tool.confidence).toBeLessThan(confirm_below);
  });

  test.each(["log_call", "update_email", "delete_message", "store_payment"])("%s is surely a record", (name) => {
    const tool = classifyTool({ name });
    expect(tool.type).toMatch(/^record\./);
    expect(tool.confidence).toBeGreaterThanOrEqual(confirm_below);
  });

  test.each([
    "git_checkout",
    "checkout_branch",
    "send_file",
    "transfer_file",
    "copy_file",
    "browser_file_upload",
    "release_payment",
    "release_records",
    "ship_order",
  ])("a word with two meanings makes nothing sure: %s", (name) => {
    expect(classifyTool({ name }).confidence).toBeLessThan(confirm_below);
  });

  test.each([
    { name: "send_reminder", description: "Sends a payment reminder to the customer by SMS" },
    { name: "create_ticket", description: "Creates a ticket when a user cannot access their account" },
    { name: "create_note", input_schema: { properties: { user_id: {}, text: {} } } },
  ])("what takes the description or a parameter to tell is not sure: $name", (tool) => {
    expect(classifyTool(tool).confidence).toBeLessThan(confirm_below);
  });

  test("a match in the description alone has less confidence", () => {
    expect(classifyTool({ name: "op7", description: "Sends an email to a customer" })).toMatchObject({
      type: "communication.email",
      confidence: 0.5,
      data_classes: ["personal"],
    });
  });

  test("data classes are found in parameters, in both spellings of the schema", () => {
    const properties = { patient_id: {}, cvv: {}, card_number: {} };
    for (const tool of [{ input_schema: { properties } }, { inputSchema: { properties } }]) {
      expect(classifyTool({ name: "save", ...tool }).data_classes).toEqual(["phi", "sad", "chd", "personal"]);
    }
  });

  test("types of parameters are read from the input schema", () => {
    const properties = {
      amount: { type: "number" },
      memo: { type: ["string", "null"] },
      id: { type: ["string", "integer"] },
      any: {},
      odd: { type: "decimal" },
      list: { type: "array", items: {} },
      cc: { anyOf: [{ type: "array", items: { type: "string" } }, { type: "null" }], default: null },
      limit: { oneOf: [{ type: "null" }, { type: ["integer", "null"] }] },
      date: { anyOf: [{ type: "string" }, { type: "integer" }, { type: "null" }] },
      target: { anyOf: [{ $ref: "#/$defs/Target" }, { type: "string" }] },
      nothing: { anyOf: [{ type: "null" }] },
      broken: { anyOf: [null, 5] },
    };
    for (const tool of [{ input_schema: { properties } }, { inputSchema: { properties } }])
      expect(classifyTool({ name: "save", ...tool }).parameters).toEqual({
        amount: "number",
        memo: "string",
        list: "array",
        cc: "array",
        limit: "integer",
      });
    for (const input_schema of [
      undefined,
      null,
      5,
      {},
      { properties: null },
      { properties: { "": { type: "string" } } },
    ])
      expect(classifyTool({ name: "save", input_schema })).not.toHaveProperty("parameters");
  });

  test("a read-only annotation never relaxes what a name says", () => {
    const tool = classifyTool({ name: "send_money", annotations: { readOnlyHint: true } });
    expect(tool.type).toBe("payment.transfer");
    expect(tool.confidence).toBeLessThan(confirm_below);
    expect(classifyTool({ name: "foo", annotations: { readOnlyHint: true } }).type).toBe("data.read");
  });
});

describe("next steps", () => {
  test("name the packs to switch on, the tools to confirm, and that this is no legal advice", () => {
    const { next_steps } = intake({ description: "hospital", tools: [{ name: "foo" }, { name: "send_email" }] });
    const text = next_steps.join("\n");
    expect(text).toContain("pack hipaa");
    expect(text).toContain("not legal advice");
    expect(text).toContain("foo");
    expect(text).not.toContain("send_email");
  });

  test.each(["hospital", "a bakery"])(
    "name the facts that the starting packs need, and when to add account: %s",
    (description) => {
      const text = intake({ description }).next_steps.join("\n");
      for (const fact of [...startingFacts, ...accountFacts]) expect(text).toContain(fact);
      expect(text).toContain("The packs security, meta are on from the start.");
      expect(text).toMatch(/Switch on the pack account when you supply/);
    },
  );
});

test("intake is deterministic, bounded and never throws, for any input", () => {
  const word = fc.constantFrom(
    "patient",
    "no",
    "card",
    "Texas",
    "EU",
    "call",
    "centre",
    "deploy",
    "constructor",
    "__proto__",
    "…",
  );
  const text = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.array(word, { maxLength: 30 }).map((words) => words.join(" ")),
  );
  const request = fc.record({
    description: text,
    industry: fc.option(text, { nil: undefined }),
    regions: fc.option(fc.array(text, { maxLength: 4 }), { nil: undefined }),
    data_classes: fc.option(fc.array(text, { maxLength: 4 }), { nil: undefined }),
    tools: fc.option(
      fc.array(fc.record({ name: text, description: text, input_schema: fc.anything(), annotations: fc.anything() }), {
        maxLength: 4,
      }),
      { nil: undefined },
    ),
  });
  fc.assert(
    fc.property(request, (given) => {
      const answer = intake(given);
      expect(intake(given)).toEqual(answer);
      for (const { because } of answer.recommended_packs) expect(because.length).toBeLessThanOrEqual(1_000);
      for (const step of answer.next_steps) expect(step.length).toBeLessThanOrEqual(1_000);
      for (const { confidence } of answer.action_catalogue) expect(confidence > 0 && confidence <= 1).toBe(true);
    }),
    { numRuns: 25 },
  );
});

test("long regions, data classes and tool names are cut where they are shown", () => {
  const long = `${"x".repeat(5_000)} call California`;
  const answer = intake({
    description: "call centre for patients in the EU and the US, card payments",
    regions: Array.from({ length: 50 }, (_, at) => `US-CA ${long} ${at}`),
    data_classes: Array.from({ length: 50 }, () => "phi"),
    tools: Array.from({ length: 50 }, (_, at) => ({ name: `zz_${"y".repeat(500)}${at}` })),
  });
  for (const { because } of answer.recommended_packs) expect(because.length).toBeLessThanOrEqual(1_000);
  for (const step of answer.next_steps) expect(step.length).toBeLessThanOrEqual(1_000);
});

test("a very long description takes a bounded time of the processor", () => {
  const started = process.cpuUsage();
  intake({
    description: "patient card ".repeat(1_000_000),
    tools: Array.from({ length: 200 }, (_, at) => ({ name: `send_thing_${at}` })),
  });
  const { user, system } = process.cpuUsage(started);
  expect((user + system) / 1_000).toBeLessThan(2_000);
  expect(text_chars_max).toBeLessThan(100_000);
});
