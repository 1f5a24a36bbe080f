import { foldName, unclassified_action_type } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { useClient } from "../api/session.tsx";
import { ToolDialog } from "../parts/forms/tool-dialog.tsx";
import { useMembranes } from "../parts/shadow-banner.tsx";

/** Opens the dialog of a tool that no rule covers, with the type that agents gave it. */
export function DescribeTool({
  membrane_id,
  verb,
  onClose,
}: {
  readonly membrane_id: string;
  readonly verb: string;
  readonly onClose: () => void;
}) {
  const client = useClient();
  const membranes = useMembranes();
  const first = useQuery({
    queryKey: ["escalations", "of tool", verb],
    queryFn: async () =>
      (await client.listEscalations({ status: "pending", tool: verb, uncovered: "true", limit: 1 })).escalations,
  });
  if (first.data === undefined || membranes.data === undefined) return null;
  const catalogue = membranes.data.find((each) => each.membrane_id === membrane_id)?.action_catalogue ?? [];
  const type = first.data[0]?.action.type ?? "";
  return (
    <ToolDialog
      membrane_id={membrane_id}
      tool={{ verb, type: type === unclassified_action_type ? "" : type, data_classes: [] }}
      known={catalogue.some((entry) => foldName(entry.verb) === foldName(verb))}
      onClose={onClose}
    />
  );
}
