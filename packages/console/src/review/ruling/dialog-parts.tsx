import type { Escalation } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import { adviceOn } from "../../api/advice.ts";
import { CaseLine, Ending } from "../case.tsx";

/** The form's error, or the service's refusal with its rules. */
export function Wrong({ error }: { readonly error: unknown }) {
  const { title, todo } = adviceOn(error);
  const rules =
    error instanceof ApiError
      ? error.details.flatMap((each) => (typeof each["policy"] === "string" ? [each["policy"]] : []))
      : [];
  return (
    <div className="banner bad" role="alert">
      <div>
        <strong>{title}</strong>
        {todo}
        {rules.length > 0 && ` Rules: ${rules.join(", ")}.`}
      </div>
    </div>
  );
}

/** Says how much of the action the reviewer has not seen. */
export function NeverShown({ chars }: { readonly chars: number }) {
  return (
    <div className="banner warn" role="status">
      <div>
        <strong>
          {chars === 1
            ? "1 character of this case was never on your screen"
            : `${chars.toLocaleString("en")} characters of this case were never on your screen`}
        </strong>
        Cancel, and expand the cut texts to see everything that you approve.
      </div>
    </div>
  );
}

/** The case, and whether it ended while the dialog was open. */
export function CaseOf({ escalation }: { readonly escalation: Escalation }) {
  return (
    <>
      <p>
        <CaseLine escalation={escalation} />
      </p>
      <Ending escalation={escalation} meanwhile />
    </>
  );
}
