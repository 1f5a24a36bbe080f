import type {
  Absence,
  AbsenceInput,
  AcceptInvitationInput,
  Invitation,
  InvitationInput,
  LoginInput,
  MadeChoices,
  OpenSession,
  Passkey,
  PasswordChangeInput,
  PasswordProof,
  PasswordResetInput,
  PersonRole,
  ProfileChange,
  RecoveryCodes,
  Session,
  SignupInput,
  TotpEnrolment,
  User,
  VerifyEmailInput,
} from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { Transport } from "../transport.ts";

type SessionAnswer = { session: Session };
type UserAnswer = { user: User };

/** People and sessions. Sessions are cookies, so most methods are for pages in a browser. */
export function peopleCalls(call: Transport) {
  return {
    /** Requests an organization. A mail contains the link. */
    signup: (input: SignupInput) => call<null>("POST", "/v1/auth/signup", { body: input }),
    /** Creates the organization, with the mailed link and the password from the signup. */
    verifyEmail: (input: VerifyEmailInput) => call<null>("POST", "/v1/auth/verify-email", { body: input }),
    /** Begins a session. `mfa_required`: continue with `verifyMfa`. */
    login: async (input: LoginInput) => (await call<SessionAnswer>("POST", "/v1/auth/login", { body: input })).session,
    /** Finishes a login with a code of the authenticator or a recovery code. */
    verifyMfa: async (code: string) =>
      (await call<SessionAnswer>("POST", "/v1/auth/mfa/verify", { body: { code } })).session,
    logout: () => call<null>("POST", "/v1/auth/logout"),
    /** Returns the session of the cookie. */
    getSession: async () => (await call<SessionAnswer>("GET", "/v1/auth/session")).session,
    /** Lists your own sessions, newest first. */
    listSessions: (query: PageQuery = {}) =>
      call<Page<"sessions", OpenSession>>("GET", "/v1/auth/sessions", { query: { ...query } }),
    /** Ends one of your own sessions. */
    endSession: (session_id: string) => call<null>("DELETE", `/v1/auth/sessions/${encodeURIComponent(session_id)}`),
    /** Ends all your sessions, including this one. */
    endAllSessions: () => call<null>("DELETE", "/v1/auth/sessions"),
    changeProfile: async (change: ProfileChange) =>
      (await call<UserAnswer>("PATCH", "/v1/auth/profile", { body: change })).user,
    /** Sets another password. All other sessions end. */
    changePassword: async (input: PasswordChangeInput) =>
      (await call<SessionAnswer>("POST", "/v1/auth/password", { body: input })).session,
    forgotPassword: (email: string) => call<null>("POST", "/v1/auth/password/forgot", { body: { email } }),
    /** Lists the passkeys that remain after a reset with this link. */
    listResetPasskeys: async (token: string) =>
      (await call<{ passkeys: Passkey[] }>("POST", "/v1/auth/password/reset/passkeys", { body: { token } })).passkeys,
    /** Sets a new password with a mailed link. */
    resetPassword: (input: PasswordResetInput) => call<null>("POST", "/v1/auth/password/reset", { body: input }),
    /** Begins to set up TOTP. Only this answer contains the seed. */
    enrolTotp: (proof: PasswordProof = {}) => call<TotpEnrolment>("POST", "/v1/auth/totp/enrol", { body: proof }),
    /** Switches TOTP on. Only this answer contains the recovery codes. */
    confirmTotp: (code: string) => call<RecoveryCodes>("POST", "/v1/auth/totp/confirm", { body: { code } }),
    disableTotp: (code: string) => call<null>("POST", "/v1/auth/totp/disable", { body: { code } }),
    /** Creates new recovery codes. The old ones are void. */
    replaceRecoveryCodes: (code: string) => call<RecoveryCodes>("POST", "/v1/auth/recovery-codes", { body: { code } }),
    /** Stops notification mails, with the token of a mail. */
    unsubscribe: (token: string) => call<null>("POST", "/v1/unsubscribe", { query: { token } }),
    ...memberCalls(call),
  };
}

function memberCalls(call: Transport) {
  const person = (user_id: string) => `/v1/people/${encodeURIComponent(user_id)}`;
  return {
    /** Invites a person with a role. A mail contains the link. */
    inviteUser: async (input: InvitationInput) =>
      (
        await call<{ invitation: Invitation }>("POST", "/v1/auth/invitations", {
          body: input,
          idempotency_key: newIdempotencyKey(),
        })
      ).invitation,
    /** Lists open invitations, newest first. */
    listInvitations: (query: PageQuery = {}) =>
      call<Page<"invitations", Invitation>>("GET", "/v1/auth/invitations", { query: { ...query } }),
    revokeInvitation: (invitation_id: string) =>
      call<null>("DELETE", `/v1/auth/invitations/${encodeURIComponent(invitation_id)}`),
    /** Joins an organization with a mailed link, and begins a session. */
    acceptInvitation: async (input: AcceptInvitationInput) =>
      (await call<SessionAnswer>("POST", "/v1/auth/invitations/accept", { body: input })).session,
    /** Lists people, newest first. */
    listPeople: (query: PageQuery & { readonly role?: PersonRole } = {}) =>
      call<Page<"people", User>>("GET", "/v1/people", { query: { ...query } }),
    /**
     * Changes a person's role and ends the person's sessions. `made`: "keep" or "revoke" by id for each thing that the
     * person created, and by `*` for all others. Without it a weaker role may get 409, with the list in
     * `details[0].made` of the error.
     */
    changeRole: async (user_id: string, role: PersonRole, made?: MadeChoices) =>
      (await call<UserAnswer>("PATCH", person(user_id), { body: { role, ...(made && { made }) } })).user,
    /** Removes a person and ends the person's sessions. `made` as in `changeRole`. */
    removePerson: (user_id: string, made?: MadeChoices) =>
      call<null>("DELETE", person(user_id), made && { body: { made } }),
    /** Sets the absence and delegate of the caller, or of any person if the caller is an admin. */
    setAbsence: async (user_id: string, input: AbsenceInput) =>
      (await call<{ absence: Absence }>("PUT", `${person(user_id)}/absence`, { body: input })).absence,
    /** Ends a person's absence now. */
    endAbsence: (user_id: string) => call<null>("DELETE", `${person(user_id)}/absence`),
    /** Leaves the organization and ends your sessions. `made` as in `changeRole`. */
    leaveOrganization: (made?: MadeChoices) => call<null>("POST", "/v1/auth/leave", made && { body: { made } }),
  };
}
