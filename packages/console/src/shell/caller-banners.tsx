import type { CallerInfo } from "@countersign/contract";
import { Link } from "@tanstack/react-router";

export function CallerBanners({ caller }: { readonly caller: CallerInfo }) {
  return (
    <>
      {caller.type === "open_mode" && (
        <div className="banner warn">
          <div>
            <strong>Open mode: everyone on this machine is admin</strong>
            No API key exists yet. <Link to="/welcome">Create your organization</Link> to get the first key, which ends
            open mode permanently. If you have an account, <Link to="/login">sign in</Link>.
          </div>
        </div>
      )}
      {caller.environment === "test" && (
        <div className="banner shadow">
          <div>
            <strong>Test key</strong>
            Your submissions are decided in test mode, and nothing waits.
          </div>
        </div>
      )}
    </>
  );
}
