import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { closed, filledText, givenId, id, oneOf, text, timestamp } from "../shapes.ts";

const domain = () =>
  Type.String({
    minLength: 3,
    maxLength: 253,
    pattern: "^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$",
    description: "the part of an e-mail address after the @",
  });

/** The TXT record `<label>.<domain>` with the text `<prefix><org_id>` proves a domain. */
export const domain_record_label = "_countersign";
export const domain_record_prefix = "countersign-organization=";

export const SingleSignOnInput = closed(
  {
    issuer: Type.String({ minLength: 1, maxLength: 2_048, description: "the OpenID provider's issuer, an https URL" }),
    client_id: filledText(512),
    client_secret: Type.Optional(filledText(1_024, { description: "optional if issuer and client_id do not change" })),
    email_domains: Type.Array(domain(), { minItems: 1, maxItems: limits.sso_domains_max }),
    default_role: oneOf(["operator", "reviewer", "agent", "auditor"], {
      description: "the role of people who sign in for the first time, unless an invitation sets another",
    }),
  },
  { title: "SingleSignOnInput" },
);
export type SingleSignOnInput = Static<typeof SingleSignOnInput>;

/** No answer shows the client secret. */
export const SingleSignOn = Type.Object(
  {
    issuer: text(2_048),
    client_id: text(512),
    email_domains: Type.Array(text(253)),
    default_role: oneOf(["operator", "reviewer", "agent", "auditor"]),
    redirect_uri: text(2_048, { description: "register this address with the provider" }),
    login_url: text(2_048, { description: "begins a login with this provider" }),
    updated_at: timestamp(),
  },
  { title: "SingleSignOn" },
);
export type SingleSignOn = Static<typeof SingleSignOn>;

export const SingleSignOnBegin = closed(
  {
    email: Type.Optional(Type.String({ format: "email", maxLength: limits.email_chars_max })),
    org_id: Type.Optional(givenId("prefix org_")),
  },
  { title: "SingleSignOnBegin", description: "exactly one of the two" },
);
export type SingleSignOnBegin = Static<typeof SingleSignOnBegin>;

export const SingleSignOnStart = Type.Object(
  {
    location: text(limits.sso_location_chars_max, {
      description: "the OpenID provider's address with all parameters",
    }),
  },
  { title: "SingleSignOnStart" },
);
export type SingleSignOnStart = Static<typeof SingleSignOnStart>;

export const SingleSignOnFinish = closed(
  {
    org_id: id("organization"),
    callback_query: Type.String({
      minLength: 1,
      maxLength: 8_192,
      description: "the unchanged query of the provider's redirect: `code=…&state=…`",
    }),
  },
  { title: "SingleSignOnFinish" },
);
export type SingleSignOnFinish = Static<typeof SingleSignOnFinish>;
