import { clientNetwork } from "@countersign/core";
import {
  acceptInvitation,
  invitePerson,
  listInvitations,
  revokeInvitation,
} from "../../../operations/people/invitations.ts";
import { logIn, verifySecondFactor } from "../../../operations/people/log-in.ts";
import {
  changePassword,
  forgotPassword,
  listResetPasskeys,
  resetPassword,
} from "../../../operations/people/passwords.ts";
import { changeProfile, changeRole, listPeople, removePerson, unsubscribe } from "../../../operations/people/people.ts";
import { endOwnSessions, getSession, listSessions, logOut, personCalling } from "../../../operations/people/session.ts";
import { signUp, verifyEmail } from "../../../operations/people/sign-up.ts";
import { confirmTotp, disableTotp, enrolTotp, replaceRecoveryCodes } from "../../../operations/people/totp.ts";
import { endAbsence, setAbsence } from "../../../operations/people/voting/absence.ts";
import type { Runtime } from "../../../operations/runtime.ts";
import { answerOnce } from "../../answer/answer-once.ts";
import type { SessionCookies } from "../../gate/cookie.ts";
import { clientOf, sessionAnswers } from "../../gate/session-answers.ts";
import type { Answer, Handlers } from "../../handler.ts";

type AccountHandlers = Pick<
  Handlers,
  | "signup"
  | "verifyEmail"
  | "forgotPassword"
  | "listResetPasskeys"
  | "resetPassword"
  | "acceptInvitation"
  | "unsubscribe"
>;
type SessionHandlers = Pick<
  Handlers,
  "login" | "verifyMfa" | "logout" | "getSession" | "listSessions" | "endSession" | "endAllSessions"
>;
type ProfileHandlers = Pick<
  Handlers,
  | "leaveOrganization"
  | "changeProfile"
  | "changePassword"
  | "enrolTotp"
  | "confirmTotp"
  | "disableTotp"
  | "replaceRecoveryCodes"
>;
type MemberHandlers = Pick<
  Handlers,
  | "inviteUser"
  | "listInvitations"
  | "revokeInvitation"
  | "listPeople"
  | "changeRole"
  | "removePerson"
  | "setAbsence"
  | "endAbsence"
>;

const done: Answer = { status: 204 };
const mailed: Answer = { status: 202 };

export function peopleRoutes(runtime: Runtime, cookies: SessionCookies) {
  return {
    ...accountRoutes(runtime, cookies),
    ...sessionRoutes(runtime, cookies),
    ...profileRoutes(runtime, cookies),
    ...memberRoutes(runtime),
  };
}

/** For callers without a session. */
function accountRoutes(runtime: Runtime, cookies: SessionCookies): AccountHandlers {
  const { begun, refuseForeign } = sessionAnswers(runtime, cookies);
  return {
    async signup({ body, headers }) {
      refuseForeign(headers);
      await signUp(runtime, body);
      return mailed;
    },
    async verifyEmail({ body, headers }) {
      refuseForeign(headers);
      await verifyEmail(runtime, body);
      return done;
    },
    async forgotPassword({ body, headers }) {
      refuseForeign(headers);
      await forgotPassword(runtime, body.email);
      return mailed;
    },
    async listResetPasskeys({ body, headers }) {
      refuseForeign(headers);
      return { status: 200, body: await listResetPasskeys(runtime, body.token) };
    },
    async resetPassword({ body, headers }) {
      refuseForeign(headers);
      await resetPassword(runtime, body);
      return done;
    },
    async acceptInvitation(request) {
      refuseForeign(request.headers);
      return begun(await acceptInvitation(runtime, request.body, clientOf(request)));
    },
    async unsubscribe({ query }) {
      await unsubscribe(runtime, query.token);
      return done;
    },
  };
}

function sessionRoutes(runtime: Runtime, cookies: SessionCookies): SessionHandlers {
  const { begun, refuseForeign } = sessionAnswers(runtime, cookies);
  const cleared = (): Answer => ({ ...done, headers: { "Set-Cookie": cookies.clear() } });
  return {
    async login(request) {
      refuseForeign(request.headers);
      return begun(await logIn(runtime, request.body, clientOf(request)));
    },
    async verifyMfa(request) {
      refuseForeign(request.headers);
      const token = cookies.read(request.headers);
      return begun(await verifySecondFactor(runtime, token, request.body.code, clientOf(request)));
    },
    async logout({ headers }) {
      refuseForeign(headers);
      await logOut(runtime, cookies.read(headers));
      return cleared();
    },
    async getSession({ headers }) {
      return { status: 200, body: { session: await getSession(runtime, cookies.read(headers)) } };
    },
    async listSessions({ caller, query }) {
      return { status: 200, body: await listSessions(runtime, caller, query) };
    },
    async endSession({ caller, params }) {
      await endOwnSessions(runtime, caller, params.session_id);
      return done;
    },
    async endAllSessions({ caller }) {
      await endOwnSessions(runtime, caller, null);
      return cleared();
    },
  };
}

function profileRoutes(runtime: Runtime, cookies: SessionCookies): ProfileHandlers {
  const { begun } = sessionAnswers(runtime, cookies);
  return {
    async leaveOrganization({ caller, body }) {
      await removePerson(runtime, caller, personCalling(caller).user_id, body.made);
      return { ...done, headers: { "Set-Cookie": cookies.clear() } };
    },
    async changeProfile({ caller, body }) {
      return { status: 200, body: { user: await changeProfile(runtime, caller, body) } };
    },
    async changePassword(request) {
      return begun(await changePassword(runtime, request.caller, request.body, clientOf(request)));
    },
    async enrolTotp({ caller, body }) {
      return { status: 200, body: await enrolTotp(runtime, caller, body) };
    },
    async confirmTotp(request) {
      const { codes, begun: session } = await confirmTotp(
        runtime,
        request.caller,
        request.body.code,
        clientOf(request),
      );
      return { ...begun(session), body: codes };
    },
    async disableTotp({ caller, body }) {
      await disableTotp(runtime, caller, body.code);
      return done;
    },
    async replaceRecoveryCodes({ caller, body }) {
      return { status: 200, body: await replaceRecoveryCodes(runtime, caller, body.code) };
    },
  };
}

function memberRoutes(runtime: Runtime): MemberHandlers {
  return {
    async inviteUser({ caller, body, client_ip, idempotency_key }) {
      const source = clientNetwork(client_ip());
      const { response: invitation, replayed } = await invitePerson(runtime, caller, body, source, idempotency_key);
      return answerOnce(replayed, { status: 201, body: { invitation } });
    },
    async listInvitations({ caller, query }) {
      return { status: 200, body: await listInvitations(runtime, caller, query) };
    },
    async revokeInvitation({ caller, params }) {
      await revokeInvitation(runtime, caller, params.invitation_id);
      return done;
    },
    async listPeople({ caller, query }) {
      return { status: 200, body: await listPeople(runtime, caller, query) };
    },
    async changeRole({ caller, params, body }) {
      return { status: 200, body: { user: await changeRole(runtime, caller, params.user_id, body.role, body.made) } };
    },
    async setAbsence({ caller, params, body }) {
      return { status: 200, body: { absence: await setAbsence(runtime, caller, params.user_id, body) } };
    },
    async endAbsence({ caller, params }) {
      await endAbsence(runtime, caller, params.user_id);
      return done;
    },
    async removePerson({ caller, params, body }) {
      await removePerson(runtime, caller, params.user_id, body.made);
      return done;
    },
  };
}
