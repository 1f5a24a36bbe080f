import { tests } from "@bufbuild/cel-spec/testdata/conformance.js";

export interface SpecValue {
  readonly nullValue?: null;
  readonly boolValue?: boolean;
  readonly int64Value?: string;
  readonly uint64Value?: string;
  readonly doubleValue?: number | string;
  readonly stringValue?: string;
  readonly bytesValue?: string;
  readonly typeValue?: string;
  readonly listValue?: { readonly values?: readonly SpecValue[] };
  readonly mapValue?: { readonly entries?: readonly { readonly key: SpecValue; readonly value: SpecValue }[] };
  readonly objectValue?: { readonly "@type": string; readonly value?: string };
}

export interface SpecType {
  readonly dyn?: object;
  readonly null?: null;
  readonly primitive?: string;
  readonly wellKnown?: string;
  readonly messageType?: string;
  readonly typeParam?: string;
  readonly type?: SpecType;
  readonly listType?: { readonly elemType?: SpecType };
  readonly mapType?: { readonly keyType?: SpecType; readonly valueType?: SpecType };
  readonly abstractType?: { readonly name: string; readonly parameterTypes?: readonly SpecType[] };
  readonly wrapper?: string;
  readonly error?: object;
}

export interface SpecTest {
  readonly file: string;
  readonly section: string;
  readonly name: string;
  readonly expr: string;
  readonly container?: string;
  readonly disableCheck?: boolean;
  readonly checkOnly?: boolean;
  readonly disableMacros?: boolean;
  readonly typeEnv?: readonly {
    readonly name: string;
    readonly ident?: { readonly type: SpecType };
    readonly function?: {
      readonly overloads: readonly {
        readonly params?: readonly SpecType[];
        readonly resultType: SpecType;
        readonly isInstanceFunction?: boolean;
      }[];
    };
  }[];
  readonly bindings?: Readonly<Record<string, { readonly value?: SpecValue }>>;
  readonly value?: SpecValue;
  readonly evalError?: object;
  readonly typedResult?: { readonly result?: SpecValue; readonly deducedType?: SpecType };
}

interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly { readonly original: unknown }[];
}

export function specTests(): SpecTest[] {
  const found: SpecTest[] = [];
  for (const file of (tests as Suite).suites ?? []) {
    for (const section of [file, ...(file.suites ?? [])]) {
      for (const { original } of section.tests ?? []) {
        found.push({ file: file.name, section: section.name, ...(original as Omit<SpecTest, "file" | "section">) });
      }
    }
  }
  return found;
}

/** Returns why a test is skipped, or null. Depends on the test's content, never on its name. */
export function skipReason(test: SpecTest): string | null {
  if (test.file === "block_ext") return "cel.block is written by optimizers, not by people";
  const { file: _file, section: _section, name: _name, ...used } = test;
  const text = JSON.stringify(used);
  if (/Enum/.test(text)) return "protobuf enums";
  if (/TestAllTypes|TestRequired|cel\.expr\.conformance|proto\.(?:has|get)Ext/.test(text)) return "protobuf messages";
  if (test.container?.startsWith("google.protobuf")) return "protobuf well-known message types";
  if (/google\.protobuf\.(?!Timestamp|Duration)[A-Z]/.test(text)) return "protobuf well-known message types";
  if (/"wrapper"/.test(text)) return "protobuf wrapper types";
  return null;
}
