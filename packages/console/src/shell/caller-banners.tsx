/** What every page says about a caller in open mode or with a test key. */
import type { CallerInfo } from "@countersign/contract";
import { Link } from "@tanstack/react-router";

export function CallerBanners({ caller }: { readonly caller: CallerInfo }) {
  return (
    <>
      {caller.type === "open_mode" && (
        <div className="banner warn">
          <div>
            <strong>Open mode: everybody on this machine is admin</strong>
            No API key exists yet. <Link to="/welcome">Create your organization</Link> to get the first key; it ends
            open mode for good. Who has an account may <Link to="/login">sign in</Link>.
          </div>
        </div>
      )}
      {caller.environment === "test" && (
        <div className="banner shadow">
          <div>
            <strong>Test key</strong>
            What you submit is decided in test mode and held by nobody.
          </div>
        </div>
      )}
    </>
  );
}
