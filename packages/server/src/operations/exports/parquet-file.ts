/** Writes Parquet files in row groups, each of one page. */
import { type Column, parseTimestampUs } from "@countersign/core";
import { ByteWriter, ParquetWriter, type SchemaElement } from "hyparquet-writer";
import type { ExportEncoder } from "./export-encoder.ts";

const storedTypes: Record<Column<never>["type"], Omit<SchemaElement, "name">> = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  number: { type: "DOUBLE" },
  integer: { type: "INT64" },
  time: { type: "INT64", converted_type: "TIMESTAMP_MICROS" },
  boolean: { type: "BOOLEAN" },
};

/** Every column may be empty. */
export function startParquet<Row>(columns: readonly Column<Row>[]): ExportEncoder<Row> {
  const output = new PieceWriter();
  const schema: SchemaElement[] = [
    { name: "root", num_children: columns.length },
    ...columns.map(({ name, type }) => ({ name, repetition_type: "OPTIONAL" as const, ...storedTypes[type] })),
  ];
  const file = new ParquetWriter({ writer: output, schema, createdBy: "countersign" });
  return {
    head: () => output.take(),
    rows(page) {
      const columnData = columns.map((column) => ({
        name: column.name,
        data: page.map((row) => storedOf(column, row)),
      }));
      file.write({ columnData, rowGroupSize: page.length });
      return output.take();
    },
    tail() {
      file.finish();
      return output.take();
    },
  };
}

function storedOf<Row>({ type, of }: Column<Row>, row: Row): string | number | bigint | boolean | null {
  const cell = of(row) ?? null;
  if (cell === null) return null;
  if (type === "integer") return BigInt(cell);
  if (type !== "time") return cell;
  const at_us = parseTimestampUs(String(cell));
  return at_us === null ? null : BigInt(at_us);
}

/** Hands out what was written since the last time, and counts all bytes as the place in the file. */
class PieceWriter extends ByteWriter {
  take(): Uint8Array {
    const piece = this.getBytes().slice();
    this.index = 0;
    return piece;
  }
}
