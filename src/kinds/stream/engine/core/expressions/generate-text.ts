/** Functions that take or make texts. */
import type { Expr, FunctionName, TypeName } from "../../../language/core/index.ts";
import { convert } from "./convert.ts";
import { is64 } from "./representation.ts";
import {
  anyNull,
  asFixed,
  asText,
  declareResult,
  fixed,
  type Generate,
  madeText,
  type Operand,
  type Source,
  spread,
  type TextOperand,
} from "./source.ts";

type Call = Extract<Expr, { readonly kind: "call" }>;
type Make = (source: Source, call: Call, generate: Generate) => Operand;

/** Runs the statements of `make` only where the condition does not hold; NULL stays NULL. */
export function unlessNull(
  source: Source,
  isNull: string,
  type: TypeName,
  make: () => Operand,
): Operand {
  if (isNull === "false") return make();
  const condition = source.local(isNull);
  const result = declareResult(source, type, true);
  source.line(`if (${condition}) ${result.operand.isNull} = true;`);
  source.line("else {");
  result.assign(make());
  source.line("}");
  return result.operand;
}

/** A whole number that a helper returned, as the call's type. */
function counted(source: Source, value: string, type: TypeName): Operand {
  return fixed(convert(source, source.local(`${value} | 0`), "INT32", type));
}

const concat: Make = (source, call, generate) => {
  const texts = call.args.map((arg) => asText(generate(source, arg)));
  return unlessNull(source, anyNull(...texts.map((text) => text.isNull)), "VARSIZED", () => {
    const helper = source.helper("concatTexts");
    let made = texts[0] as TextOperand;
    for (const text of texts.slice(1)) {
      source.line(`${helper}(arena, ${spread(made)}, ${spread(text)});`);
      made = madeText(source, "false");
    }
    return { ...made, isNull: "false" };
  });
};

/** The number that a text is, strictly. */
export function numberOfText(source: Source, text: TextOperand, type: TypeName): Operand {
  if (is64(type)) {
    const helper = source.helper(type === "INT64" ? "parseSigned64" : "parseUnsigned64");
    const wrapped = type === "INT64" ? "asIntN" : "asUintN";
    return fixed(source.local(`BigInt.${wrapped}(64, ${helper}(${spread(text)}))`));
  }
  if (type === "BOOLEAN") {
    return fixed(source.local(`${source.helper("parseBoolean")}(${spread(text)})`));
  }
  const name = source.constant(type);
  return fixed(source.local(`${source.helper("parseSmall")}(${spread(text)}, ${name})`));
}

/** The text of a number. */
export function textOfNumber(source: Source, value: string, type: TypeName): TextOperand {
  if (is64(type)) {
    source.line(`scratch64[0] = ${value};`);
    const high = type === "INT64" ? "scratch32[1]" : "scratchU32[1]";
    source.line(`${source.helper("textOf64")}(arena, ${high}, scratchU32[0]);`);
  } else if (type === "BOOLEAN") {
    source.line(`${source.helper("textOfBoolean")}(arena, ${value});`);
  } else {
    const name = source.constant(type);
    source.line(`${source.helper("textOfSmall")}(arena, ${value}, ${name});`);
  }
  return madeText(source, "false");
}

export function castText(source: Source, operand: Operand, from: TypeName, to: TypeName): Operand {
  if (from === to) return operand;
  return unlessNull(source, operand.isNull, to, () =>
    operand.kind === "text"
      ? numberOfText(source, operand, to)
      : textOfNumber(source, operand.value, from),
  );
}

export const textFunctions: Partial<Readonly<Record<FunctionName, Make>>> = {
  concat,
  char_length: (source, call, generate) => {
    const text = asText(generate(source, (call.args as [Expr])[0]));
    return unlessNull(source, text.isNull, call.type.name, () =>
      counted(source, `${source.helper("charLength")}(${spread(text)})`, call.type.name),
    );
  },
  octet_length: (source, call, generate) => {
    const text = asText(generate(source, (call.args as [Expr])[0]));
    const length = counted(source, `(${text.end} - ${text.start})`, call.type.name);
    return { ...asFixed(length), isNull: text.isNull };
  },
  parse_number: (source, call, generate) => {
    const [arg] = call.args as [Expr];
    return castText(source, generate(source, arg), arg.type.name, call.type.name);
  },
  to_text: (source, call, generate) => {
    const [arg] = call.args as [Expr];
    return castText(source, generate(source, arg), arg.type.name, call.type.name);
  },
  text_to_number: (source, call, generate) => {
    const text = asText(generate(source, (call.args as [Expr])[0]));
    return unlessNull(source, text.isNull, call.type.name, () => {
      source.line(`${source.helper("keepNumeric")}(arena, ${spread(text)});`);
      return numberOfText(source, madeText(source, "false"), call.type.name);
    });
  },
};
