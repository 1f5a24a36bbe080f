import { roleMeets } from "@countersign/contract";
import { useMutation } from "@tanstack/react-query";
import { useClient, useSession } from "../../api/session.tsx";
import { saveFile } from "../../exports/save-file.ts";
import { useToasts } from "../../parts/toasts.tsx";

/** Downloads the receipt of a decision, for those who read the audit trail. */
export function ReceiptButton({ intent_id }: { readonly intent_id: string }) {
  const { caller } = useSession();
  const client = useClient();
  const toasts = useToasts();
  const receipt = useMutation({
    mutationFn: () => client.getIntentReceipt(intent_id),
    onSuccess: (text) => {
      // The text is signed as it is, so it must reach the file unchanged.
      saveFile(`${intent_id}.receipt.json`, "application/json", [new TextEncoder().encode(text)]);
      toasts.done("Receipt saved", "Anybody can verify it offline, with the page at /verify.html.");
    },
    onError: toasts.failed,
  });
  if (caller === null || !roleMeets(caller.role, ["operator", "auditor"])) return null;
  return (
    <button type="button" className="button small" disabled={receipt.isPending} onClick={() => receipt.mutate()}>
      Receipt
    </button>
  );
}
