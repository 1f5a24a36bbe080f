import { useQuery } from "@tanstack/react-query";
import { useClient, useSession } from "../api/session.tsx";
import { Loaded } from "../parts/states.tsx";
import { LeaveButton, useLeave } from "../shell/leave.tsx";
import { Outside } from "./outside.tsx";
import { Passkeys } from "./passkeys.tsx";
import { SecondFactor } from "./second-factor.tsx";

/** For a session without the second factor that the organization requires: everything else is refused. */
export function RequiredSecondFactor() {
  const client = useClient();
  const { lookAgain } = useSession();
  const leave = useLeave();
  const query = useQuery({
    queryKey: ["session", "required-second-factor"],
    queryFn: async () => {
      const [{ user }, { passkeys }] = await Promise.all([client.getSession(), client.listPasskeys({ limit: 1 })]);
      return { user, has_passkey: passkeys.length > 0 };
    },
  });
  return (
    <Outside
      title="Set up a second factor"
      about="Your organization requires one. Until then this session can do nothing else."
    >
      <Loaded query={query} what="your account">
        {({ user, has_passkey }) =>
          has_passkey ? (
            <section className="card stack">
              <p>
                Sign out, then sign in with your passkey. If you lost it, set a new password by mail and remove your
                passkeys there.
              </p>
            </section>
          ) : (
            user !== null && (
              <>
                <SecondFactor user={user} onSetUp={() => void lookAgain()} />
                <Passkeys />
              </>
            )
          )
        }
      </Loaded>
      <div className="actions start">
        <LeaveButton leave={leave} />
      </div>
    </Outside>
  );
}
