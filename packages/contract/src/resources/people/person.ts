import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { personRoleNames } from "../../roles.ts";
import {
  anyObject,
  closed,
  filledText,
  givenId,
  id,
  listQuery,
  nullable,
  oneOf,
  text,
  timeInput,
  timestamp,
} from "../shapes.ts";

const email = () => Type.String({ format: "email", maxLength: limits.email_chars_max });
const newPassword = () => Type.String({ minLength: limits.password_chars_min, maxLength: limits.password_chars_max });
const givenPassword = () => Type.String({ minLength: 1, maxLength: limits.password_chars_max });
/** Without @, so that a name cannot pass for another person's address. */
const personName = () =>
  Type.String({
    minLength: 1,
    maxLength: limits.name_chars_max,
    pattern: "^[^@]*[^@\\s][^@]*$",
    description: "shown instead of the address; without @",
  });
const token = () => Type.String({ minLength: 1, maxLength: 512 });
const code = () =>
  Type.String({ minLength: 6, maxLength: 32, description: "six digits of the authenticator, or a recovery code" });

export const Absence = Type.Object(
  {
    from: timestamp(),
    until: timestamp("the absence ends automatically"),
    delegate: id("user"),
    may_vote: Type.Boolean({
      description:
        "true: an admin named the delegate, who votes in place of the absent person in panels that name that person. " +
        "false: the delegate gets the mails, and votes where a panel includes the delegate anyway",
    }),
  },
  { title: "Absence" },
);
export type Absence = Static<typeof Absence>;

export const AbsenceInput = closed(
  {
    from: Type.Optional(timeInput("default: now")),
    until: timeInput("after `from`, and in the future"),
    delegate: givenId("the user_id of another person who may decide reviews"),
  },
  { title: "AbsenceInput" },
);
export type AbsenceInput = Static<typeof AbsenceInput>;

const MailRhythm = oneOf(["at_once", "daily"], {
  description: "daily: one mail a day lists what waits; a review with a tenth of its time left is mailed at once",
});
const digestHour = () => Type.Integer({ minimum: 0, maximum: 23, description: "UTC, of the daily mail" });

export const User = Type.Object(
  {
    user_id: id("user"),
    email: text(limits.email_chars_max),
    name: nullable(text(limits.name_chars_max, { description: "null: the person has none" })),
    role: oneOf(personRoleNames),
    mfa_enabled: Type.Boolean(),
    notify: Type.Boolean({ description: "whether the person gets mails about new escalations" }),
    mail_rhythm: MailRhythm,
    digest_hour: digestHour(),
    created_at: timestamp(),
    last_seen_at: nullable(timestamp("of the newest session, to the minute; null: never signed in")),
    /** Only in the list of people. */
    absence: Type.Optional(Absence),
  },
  { title: "User" },
);
export type User = Static<typeof User>;

/** The caller's session. Before the second factor, `user` is null and the session permits nothing else. */
export const Session = Type.Object(
  {
    session_id: id("session"),
    org_id: id("organization"),
    user: nullable(User),
    mfa_required: Type.Boolean(),
    expires_at: timestamp(),
  },
  { title: "Session" },
);
export type Session = Static<typeof Session>;

export const OpenSession = Type.Object(
  {
    session_id: id("session"),
    current: Type.Boolean({ description: "whether it is the caller's session" }),
    created_at: timestamp(),
    last_seen_at: timestamp("to the minute"),
    expires_at: timestamp(),
    client_ip: nullable(text(64)),
    user_agent: nullable(text(512)),
  },
  { title: "OpenSession" },
);
export type OpenSession = Static<typeof OpenSession>;

export const SignupInput = closed({
  org_name: filledText(limits.name_chars_max),
  email: email(),
  password: newPassword(),
});
export type SignupInput = Static<typeof SignupInput>;
export const LinkInput = closed({ token: token() });
export const LoginInput = closed({ email: email(), password: givenPassword() });
export type LoginInput = Static<typeof LoginInput>;
export const MfaInput = closed({ code: code() });
export type MfaInput = Static<typeof MfaInput>;
export const VerifyEmailInput = closed({ token: token(), password: givenPassword() });
export type VerifyEmailInput = Static<typeof VerifyEmailInput>;
export const EmailInput = closed({ email: email() });
export const PasswordResetInput = closed({
  token: token(),
  password: newPassword(),
  remove_passkeys: Type.Optional(Type.Boolean({ description: "default false: passkeys stay valid" })),
});
export type PasswordResetInput = Static<typeof PasswordResetInput>;
export const PasswordProof = closed({
  password: Type.Optional(givenPassword()),
});
export type PasswordProof = Static<typeof PasswordProof>;
export const PasswordChangeInput = closed({ current_password: givenPassword(), password: newPassword() });
export type PasswordChangeInput = Static<typeof PasswordChangeInput>;
export const ProfileChange = closed({
  name: Type.Optional(nullable(personName())),
  notify: Type.Optional(Type.Boolean()),
  mail_rhythm: Type.Optional(MailRhythm),
  digest_hour: Type.Optional(digestHour()),
});
export type ProfileChange = Static<typeof ProfileChange>;
export const InvitationInput = closed({
  email: email(),
  role: oneOf(personRoleNames),
  name: Type.Optional(personName()),
});
export type InvitationInput = Static<typeof InvitationInput>;
export const AcceptInvitationInput = closed({ token: token(), password: Type.Optional(newPassword()) });
export type AcceptInvitationInput = Static<typeof AcceptInvitationInput>;
/** Key in `made` for everything that `made` does not name. */
export const all_others = "*";
const madeChoices = () =>
  Type.Optional(
    Type.Record(Type.String(), oneOf(["keep", "revoke"]), {
      maxProperties: limits.made_choices_max,
      description:
        "by id of a key, webhook or invitation that the person made; required after a 409 `undecided`. The entry " +
        `\`${all_others}\` is for everything that is not named, also for what is made meanwhile. With it, the ids need not be exactly ` +
        "those of the list, and an id that the person did not make is ignored",
    }),
  );
export const RoleChange = closed({ role: oneOf(personRoleNames), made: madeChoices() });
export const PersonRemoval = closed({ made: madeChoices() });
export type PersonRemoval = Static<typeof PersonRemoval>;
export type MadeChoices = NonNullable<PersonRemoval["made"]>;
export type MadeChoice = MadeChoices[string];

/** A key, webhook or invitation that works without its creator, as `details[0].made` of a 409 lists it. */
export interface MadeThing {
  readonly kind: "api_key" | "invitation" | "webhook";
  readonly id: string;
  /** The key's name, the webhook's URL or the invited address; null: a key without a name. */
  readonly name: string | null;
  readonly created_at: string;
}
export type RoleChange = Static<typeof RoleChange>;
export const PasskeyInput = closed({
  credential: anyObject("the result of navigator.credentials in its JSON form"),
  name: Type.Optional(filledText(limits.name_chars_max)),
});
export type PasskeyInput = Static<typeof PasskeyInput>;

export const PersonListQuery = listQuery({ role: Type.Optional(oneOf(personRoleNames)) });

/** Shown once. */
export const TotpEnrolment = Type.Object(
  { secret: text(128, { description: "base32" }), uri: text(1_000, { description: "otpauth:// for a QR code" }) },
  { title: "TotpEnrolment" },
);
export type TotpEnrolment = Static<typeof TotpEnrolment>;
/** Shown once. Each code works once. */
export const RecoveryCodes = Type.Object({ recovery_codes: Type.Array(text(64)) }, { title: "RecoveryCodes" });
export type RecoveryCodes = Static<typeof RecoveryCodes>;
/** Options for the browser's navigator.credentials as JSON. */
export const PasskeyOptions = Type.Object({ options: anyObject() }, { title: "PasskeyOptions" });
export type PasskeyOptions = Static<typeof PasskeyOptions>;
export const Passkey = Type.Object(
  {
    passkey_id: text(1_400, { description: "the credential's id, base64url" }),
    name: text(limits.name_chars_max),
    created_at: timestamp(),
    last_used_at: nullable(timestamp()),
  },
  { title: "Passkey" },
);
export type Passkey = Static<typeof Passkey>;
export const Invitation = Type.Object(
  {
    invitation_id: id("invitation"),
    email: text(limits.email_chars_max),
    name: nullable(text(limits.name_chars_max)),
    role: oneOf(personRoleNames),
    created_at: timestamp(),
    expires_at: timestamp(),
  },
  { title: "Invitation" },
);
export type Invitation = Static<typeof Invitation>;
