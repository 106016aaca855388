/**
 * A column's type in SQL, and its fields as files name them: every one by its id, those within structs, lists and maps too
 * (`fieldTree`). Pure.
 */

import { assert } from "../../../ground/kernel/errors.ts";
import { quoteName } from "../../sql/core/index.ts";
import { duckdbTypeOf, fieldTree, type LakeField } from "../core/column-types.ts";
import type { LakeColumn } from "../core/index.ts";

type TypedColumn = Pick<LakeColumn, "columnId" | "name" | "type">;

/** A field that has values of its own, and so statistics. */
export interface LeafField {
  readonly fieldId: number;
  /** From the column's name inwards. */
  readonly path: readonly string[];
  /** DuckLake's word. */
  readonly type: string;
}

export function leavesOf(column: TypedColumn): readonly LeafField[] {
  const leavesBelow = (field: LakeField, outer: readonly string[]): readonly LeafField[] => {
    const path = [...outer, field.name];
    if (field.children.length === 0) return [{ fieldId: field.columnId, path, type: field.type }];
    return field.children.flatMap((child) => leavesBelow(child, path));
  };
  return leavesBelow(fieldOf(column), []);
}

/** The value of FIELD_IDS for a column. */
export function fieldIdsText(column: TypedColumn): string {
  const render = ({ columnId, children }: LakeField): string => {
    if (children.length === 0) return String(columnId);
    const members = children.map((child) => `${quoteName(child.name)}: ${render(child)}`);
    return `{__duckdb_field_id: ${columnId}, ${members.join(", ")}}`;
  };
  return render(fieldOf(column));
}

/** In DuckDB's words, whatever was written: nothing of the original text is in it but names, quoted. */
export function typeText(column: TypedColumn): string {
  return render(fieldOf(column), (type) => type);
}

/**
 * The type that a file has. Parquet has no whole numbers of 128 bits, and DuckDB would write them as DOUBLE and lose digits:
 * they are decimals, and one of more than 38 digits is an error instead.
 */
export function storedTypeText(column: TypedColumn): string {
  return render(fieldOf(column), (type) => (/^u?int128$/.test(type) ? "decimal(38,0)" : type));
}

function fieldOf({ columnId, name, type }: TypedColumn): LakeField {
  return fieldTree(name, type, columnId);
}

function render(field: LakeField, stored: (type: string) => string): string {
  const [first, second] = field.children;
  switch (field.type) {
    case "list":
      assert(first !== undefined, "a list has an element");
      return `${render(first, stored)}[]`;
    case "map":
      assert(first !== undefined && second !== undefined, "a map has keys and values");
      return `MAP(${render(first, stored)}, ${render(second, stored)})`;
    case "struct": {
      const members = field.children.map(
        (child) => `${quoteName(child.name)} ${render(child, stored)}`,
      );
      return `STRUCT(${members.join(", ")})`;
    }
    default:
      return duckdbTypeOf({ type: stored(field.type), children: [] });
  }
}
