/** Source text for loops that compare the keys of two rows, each from its own list of views. */
import type { DataType, TypeName } from "../../../language/core/index.ts";
import { is64Bit } from "./column-view.ts";

/** Declares the arrays of views as `<side>d0`, `<side>o0`, `<side>v0` and so on. */
export function viewLocals(types: readonly unknown[], side: string, views: string): string {
  return types
    .map((_, i) => {
      const view = `${views}[${i}]`;
      const data = `${side}d${i} = ${view}.data, ${side}o${i} = ${view}.offsets`;
      return `const ${data}, ${side}v${i} = ${view}.validity;`;
    })
    .join("\n");
}

export interface Sides {
  readonly left: string;
  readonly leftRow: string;
  readonly right: string;
  readonly rightRow: string;
  /** Whether NaN equals NaN, as in a key of a group, or nothing, as in a comparison. */
  readonly nan: "equal" | "unequal";
}

/** An expression that is true where the rows have equal values; two NULLs are equal. */
export function equalityOf(types: readonly DataType[], sides: Sides): string {
  if (types.length === 0) return "true";
  return types.map((type, i) => columnEquality(type, i, sides)).join(" && ");
}

function columnEquality({ name, nullable }: DataType, i: number, sides: Sides): string {
  const values = valueEquality(name, i, sides);
  if (!nullable) return values;
  const left = isNullAt(sides.left, i, sides.leftRow);
  const right = isNullAt(sides.right, i, sides.rightRow);
  return `(${left} ? ${right} : !${right} && ${values})`;
}

/** An expression that is true where a value is NULL. */
export function isNullAt(side: string, i: number, row: string): string {
  const bits = `${side}v${i}`;
  return `(${bits} !== undefined && ((${bits}[${row} >> 3] >> (${row} & 7)) & 1) === 0)`;
}

function valueEquality(type: TypeName, i: number, sides: Sides): string {
  const { leftRow: l, rightRow: r } = sides;
  const [a, b] = [`${sides.left}d${i}`, `${sides.right}d${i}`];
  if (is64Bit(type)) {
    return `(${a}[2 * ${l}] === ${b}[2 * ${r}] && ${a}[2 * ${l} + 1] === ${b}[2 * ${r} + 1])`;
  }
  if (type === "VARSIZED") {
    const [ao, bo] = [`${sides.left}o${i}`, `${sides.right}o${i}`];
    const range = (o: string, row: string) => `${o}[${row}], ${o}[${row} + 1]`;
    return `equalBytes(${a}, ${range(ao, l)}, ${b}, ${range(bo, r)})`;
  }
  const plain = `${a}[${l}] === ${b}[${r}]`;
  const isFloat = type === "FLOAT32" || type === "FLOAT64";
  if (!isFloat || sides.nan === "unequal") return `(${plain})`;
  return `(${plain} || (${a}[${l}] !== ${a}[${l}] && ${b}[${r}] !== ${b}[${r}]))`;
}
