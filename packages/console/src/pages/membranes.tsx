import type { Membrane } from "@countersign/contract";
import { useState } from "react";
import { useMay } from "../api/session.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { useMembranes } from "../parts/shadow-banner.tsx";
import { Loaded } from "../parts/states.tsx";
import { GoLiveSettings } from "./membranes/go-live-settings.tsx";
import { MembraneCard } from "./membranes/membrane-card.tsx";
import { MembraneDialog } from "./membranes/membrane-dialog.tsx";

export function MembranesPage() {
  const query = useMembranes();
  const may = useMay("admin");
  const [editing, setEditing] = useState<Membrane | "new" | null>(null);
  return (
    <>
      <PageHead
        title="Membranes"
        about="A membrane is the set of rules for a group of agents. In shadow it only records decisions; live it enforces them."
      >
        {may && (
          <button type="button" className="button" onClick={() => setEditing("new")}>
            Add a membrane
          </button>
        )}
      </PageHead>
      <Loaded query={query} what="the membranes">
        {(membranes) => (
          <div className="stack">
            {membranes.map((membrane) => (
              <MembraneCard key={membrane.membrane_id} membrane={membrane} onEdit={() => setEditing(membrane)} />
            ))}
          </div>
        )}
      </Loaded>
      {may && <GoLiveSettings />}
      {editing !== null && (
        <MembraneDialog membrane={editing === "new" ? null : editing} onClose={() => setEditing(null)} />
      )}
    </>
  );
}
