import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { CatalogueEntry } from "../membranes/membrane.ts";
import { anyObject, closed, filledText, givenId, id, oneOf, text } from "../shapes.ts";

/** Source: spec §4. */
export const QuickstartInput = closed(
  {
    org_name: filledText(limits.name_chars_max),
    email: Type.String({ format: "email", maxLength: limits.email_chars_max }),
    description: filledText(limits.onboarding_text_chars_max),
    intake_id: Type.Optional(givenId("prefix ink_")),
  },
  { title: "QuickstartInput" },
);
export type QuickstartInput = Static<typeof QuickstartInput>;

/** A new organization with its first membrane and key, in one flat object. Source: spec §2.1. */
export const Quickstart = Type.Object(
  {
    membrane_id: id("membrane"),
    membrane_status: oneOf(["shadow"]),
    org_id: id("organization"),
    api_key: text(256, { description: "the full key, shown here only" }),
    key_id: id("api_key"),
    quickstart_snippet: text(20_000, { description: "client code that runs unchanged" }),
    next_steps: Type.Array(text(1_000)),
  },
  { title: "Quickstart" },
);
export type Quickstart = Static<typeof Quickstart>;

export const IntakeInput = closed(
  {
    description: filledText(limits.onboarding_text_chars_max),
    industry: Type.Optional(text(limits.label_chars_max)),
    regions: Type.Optional(Type.Array(text(limits.label_chars_max), { maxItems: 100 })),
    data_classes: Type.Optional(Type.Array(text(limits.label_chars_max), { maxItems: limits.data_classes_max })),
    tools: Type.Optional(
      Type.Array(
        closed({
          name: Type.String({ minLength: 1, maxLength: limits.verb_chars_max }),
          description: Type.Optional(text(limits.onboarding_text_chars_max)),
          input_schema: Type.Optional(anyObject("JSON Schema of the tool's input")),
          // Further members of MCP's tools/list, so that callers can send its answer unchanged.
          inputSchema: Type.Optional(anyObject("input_schema in MCP's spelling")),
          title: Type.Optional(text(limits.onboarding_text_chars_max)),
          outputSchema: Type.Optional(anyObject("not read")),
          annotations: Type.Optional(anyObject("MCP's hints: readOnlyHint and destructiveHint lower the confidence")),
          execution: Type.Optional(anyObject("not read")),
          icons: Type.Optional(Type.Array(anyObject(), { maxItems: 100, description: "not read" })),
          _meta: Type.Optional(anyObject("not read")),
        }),
        { maxItems: limits.intake_tools_max },
      ),
    ),
  },
  { title: "IntakeInput" },
);
export type IntakeInput = Static<typeof IntakeInput>;

/** Recommendation for a description. Quickstart accepts its intake_id. */
export const Intake = Type.Object(
  {
    intake_id: id("intake"),
    recommended_packs: Type.Array(Type.Object({ pack: text(64), because: text(1_000) })),
    action_catalogue: Type.Array(
      Type.Object({
        ...CatalogueEntry.properties,
        confidence: Type.Number({
          minimum: 0,
          maximum: 1,
          description: "how clearly the tool's name and text indicate the type",
        }),
        because: text(1_000, { description: "the words that indicated the type" }),
      }),
    ),
    next_steps: Type.Array(text(1_000)),
  },
  { title: "Intake" },
);
export type Intake = Static<typeof Intake>;
