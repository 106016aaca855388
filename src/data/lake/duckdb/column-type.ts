/**
 * A column's type in SQL, and its fields with their ids in files, nested ones included
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
  /** The names from the column inwards. */
  readonly path: readonly string[];
  /** DuckLake's type name. */
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

/** The type rendered in DuckDB's notation: of the original text only names remain, quoted. */
export function typeText(column: TypedColumn): string {
  return render(fieldOf(column), (type) => type);
}

/**
 * The type in a file. Parquet has no 128-bit integers, and DuckDB would write them as DOUBLE and
 * lose digits. They are decimals here, and more than 38 digits are an error.
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
