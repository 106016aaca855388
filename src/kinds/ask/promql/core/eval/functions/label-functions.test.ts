import assert from "node:assert/strict";
import { test } from "node:test";
import { call, series } from "./testing/call.ts";

const one = series({ __name__: "m", src: "source-value-10", dst: "original" }, 1);
const unnamed = { ...one, dropName: true };

const replacements: { name: string; args: [string, string, string, string]; want: string }[] = [
  {
    name: "a group",
    args: ["dst", "to-$1", "src", "source-value-(.*)"],
    want: 'm{dst="to-10",src="source-value-10"} 1',
  },
  {
    name: "a named group",
    args: ["dst", "$" + "{n}x", "src", "(?P<n>[a-z]+).*"],
    want: 'm{dst="sourcex",src="source-value-10"} 1',
  },
  {
    name: "no match",
    args: ["dst", "x", "src", "value"],
    want: 'm{dst="original",src="source-value-10"} 1',
  },
  {
    name: "an empty value removes the label",
    args: ["dst", "", "dst", ".*"],
    want: 'm{src="source-value-10"} 1',
  },
  {
    name: "an absent label is empty",
    args: ["new", "x$1", "none", "(.*)"],
    want: 'm{dst="original",new="x",src="source-value-10"} 1',
  },
  {
    name: "a dollar",
    args: ["dst", "$$1", "src", "(.*)"],
    want: 'm{dst="$1",src="source-value-10"} 1',
  },
  {
    name: "a group that is none",
    args: ["dst", "a$1x-$9", "src", "(.*)"],
    want: 'm{dst="a-",src="source-value-10"} 1',
  },
  {
    name: "dots match line breaks",
    args: ["dst", "y", "src", "s.+0"],
    want: 'm{dst="y",src="source-value-10"} 1',
  },
  {
    name: "names beyond ASCII",
    args: ["größe", "y", "src", ".*"],
    want: 'm{dst="original",größe="y",src="source-value-10"} 1',
  },
];
for (const { name, args, want } of replacements) {
  test(`[HG14] label_replace: ${name}`, () => {
    assert.deepEqual(call("label_replace", [[one], ...args]).lines, [want]);
  });
}

test("[HG14] a name that was given stays; otherwise it is dropped as before", () => {
  assert.deepEqual(call("label_replace", [[unnamed], "__name__", "new", "src", ".*"]).lines, [
    'new{dst="original",src="source-value-10"} 1',
  ]);
  assert.match(
    call("label_replace", [[unnamed], "a", "b", "src", ".*"]).lines[0] ?? "",
    /^-m\{a="b"/,
  );
  assert.match(call("label_join", [[unnamed], "__name__", "", "dst"]).lines[0] ?? "", /^original/);
});

const joins: { args: string[]; want: string }[] = [
  {
    args: ["new", "-", "src", "dst"],
    want: 'm{dst="original",new="source-value-10-original",src="source-value-10"} 1',
  },
  {
    args: ["new", ",", "a", "dst", "b"],
    want: 'm{dst="original",new=",original,",src="source-value-10"} 1',
  },
  { args: ["dst", ","], want: 'm{src="source-value-10"} 1' },
];
for (const { args, want } of joins) {
  test(`[HG14] label_join(${args})`, () => {
    assert.deepEqual(call("label_join", [[one], ...args]).lines, [want]);
  });
}

const refused: { name: string; args: string[]; want: string }[] = [
  {
    name: "label_replace",
    args: ["dst", "", "src", "("],
    want: "invalid regular expression in label_replace(): (",
  },
  {
    name: "label_replace",
    args: ["", "", "src", ""],
    want: "invalid destination label name in label_replace(): ",
  },
  {
    name: "label_join",
    args: ["", ",", "src"],
    want: "invalid destination label name in label_join(): ",
  },
  {
    name: "label_join",
    args: ["dst", ",", "\ud800"],
    want: "invalid source label name in label_join(): \ud800",
  },
];
for (const { name, args, want } of refused) {
  test(`[HG14] ${JSON.stringify(want)}`, () => {
    assert.throws(() => call(name, [[one], ...args]), { message: want, stage: "execution" });
  });
}

test("[HG14] series that become one are merged if they never meet", () => {
  const apart = [series({ a: "1" }, 1, undefined), series({ a: "2" }, undefined, 2)];
  const merged = call("label_replace", [apart, "a", "x", "a", ".*"], { steps: 2 });
  assert.deepEqual(merged.lines, ['{a="x"} 1 2']);
  const meeting = [series({ a: "1" }, 1), series({ a: "2" }, 2)];
  const same = /vector cannot contain metrics with the same labelset/;
  assert.throws(() => call("label_replace", [meeting, "a", "x", "a", ".*"]), same);
  assert.throws(() => call("label_join", [meeting, "a", ""]), same);
});

test("[HG14] a value does not grow without end", () => {
  const long = series({ a: "x".repeat(600_000) }, 1);
  const tooLong = /value would have more than 1048576 characters/;
  assert.throws(() => call("label_replace", [[long], "b", "$1$1", "a", "(.*)"]), tooLong);
  assert.throws(() => call("label_join", [[long], "b", "", "a", "a"]), tooLong);
});

test("[PE22] a text that would be too long is never made", () => {
  const tooLong = /a label's value would have more than \d+ characters/;
  const separator = "y".repeat(500_000);
  const sources = Array.from({ length: 5_000 }, () => "src");
  assert.throws(() => call("label_join", [[one], "x", separator, ...sources]), tooLong);
  const wide = series({ __name__: "m", src: separator }, 1);
  const template = "$1".repeat(50_000);
  assert.throws(() => call("label_replace", [[wide], "x", template, "src", "(.*)"]), tooLong);
});

test("[PE22] labels are counted as they are made, not when all are", () => {
  const many = Array.from({ length: 10 }, (_, i) => series({ __name__: "m", i: String(i) }, 1));
  for (const [name, ...args] of [
    ["label_join", "x", "-", "i", "i"],
    ["label_replace", "x", "$1", "i", "(.*)"],
  ] as const) {
    let count = 0;
    const make = (): never => {
      count += 1;
      throw new Error("too much");
    };
    assert.throws(() => call(name, [many, ...args], { make }), /too much/);
    assert.equal(count, 1);
  }
});
