import { exportFormats } from "@countersign/contract";
import { exportAudit } from "../../../operations/exports/export-audit.ts";
import { exportDecisions } from "../../../operations/exports/export-decisions.ts";
import type { ExportedFile } from "../../../operations/exports/export-file.ts";
import { exportReceipts } from "../../../operations/exports/export-receipts.ts";
import type { Runtime } from "../../../operations/runtime.ts";
import type { Answer, Handlers, OperationRequest } from "../../handler.ts";
import { wantsLines } from "../../request/wants-lines.ts";

export function exportRoutes(runtime: Runtime): Pick<Handlers, "exportDecisions" | "exportAudit" | "exportReceipts"> {
  return {
    async exportDecisions({ caller, query, headers }) {
      return answerOf(await exportDecisions(runtime, caller, query), headers);
    },
    async exportAudit({ caller, query, headers }) {
      return answerOf(await exportAudit(runtime, caller, query), headers);
    },
    async exportReceipts({ caller, query, headers }) {
      return answerOf(await exportReceipts(runtime, caller, query), headers);
    },
  };
}

function answerOf(exported: ExportedFile, { accept }: OperationRequest["headers"]): Answer {
  const { format, name, as_of_seq } = exported;
  const headers = {
    "Content-Disposition": `attachment; filename="${name}.${format}"`,
    "X-Export-As-Of-Seq": String(as_of_seq),
  };
  if (wantsLines(accept)) return { status: 200, headers, lines: linesOf(exported) };
  const type = exportFormats[format].media_type;
  return { status: 200, headers: { ...headers, "Content-Type": `${type}; charset=utf-8` }, file: bytesOf(exported) };
}

async function* bytesOf({ parts }: ExportedFile): AsyncGenerator<Uint8Array> {
  for await (const { bytes } of parts) yield bytes;
}

async function* linesOf({ parts }: ExportedFile): AsyncGenerator<string> {
  for (;;) {
    const next = await parts.next();
    if (next.done === true) return yield JSON.stringify({ export: next.value });
    const { bytes, progress } = next.value;
    yield JSON.stringify({ progress, part: Buffer.from(bytes).toString("base64") });
  }
}
