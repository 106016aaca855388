/** Runs against the base: verdicts with their reasons; for each every figure, and what was configured differently. */
import {
  IconAlertTriangle,
  IconArrowDownRight,
  IconArrowUpRight,
  IconEqual,
  IconHelpCircle,
} from "@tabler/icons-react";
import type { ComparisonVerdict, MetricDifference, RunComparison } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import type { Sign, Tone } from "../../../components/state-sign.tsx";
import { valueText } from "../run/config-paths.ts";
import {
  chanceText,
  differenceText,
  intervalText,
  letterOf,
  metricName,
  metricValue,
} from "./compare-view.ts";

const verdicts: Readonly<Record<ComparisonVerdict, Sign>> = {
  IMPROVEMENT: { word: "Improvement", tone: "good", icon: IconArrowUpRight },
  NEUTRAL: { word: "Neutral", tone: "dim", icon: IconEqual },
  INCONCLUSIVE: { word: "Inconclusive", tone: "warn", icon: IconHelpCircle },
  WARNING: { word: "Warning", tone: "warn", icon: IconAlertTriangle },
  REGRESSION: { word: "Regression", tone: "bad", icon: IconArrowDownRight },
};

const tones: Readonly<Record<MetricDifference["verdict"], Tone>> = {
  better: "good",
  same: "dim",
  "slightly worse": "warn",
  worse: "bad",
  unsure: "warn",
};

interface ComparisonCardProps {
  readonly comparison: RunComparison;
  readonly base: string;
  readonly letter: string;
}

/** Each verdict, with why. */
export function VerdictsCard({ comparisons }: { readonly comparisons: readonly RunComparison[] }) {
  return (
    <section className="card" aria-label="Verdicts">
      {comparisons.map(({ run_id: id, verdict, reasons }, index) => {
        const { word, tone, icon: Icon } = verdicts[verdict];
        return (
          <div key={id} className="comparison-verdict" data-verdict={verdict}>
            <Icon size={24} className={`tone-${tone}`} />
            <div>
              <strong>{word}</strong>{" "}
              <span className="dim">
                {letterOf(index + 1)} against {letterOf(0)}
              </span>
              <ul>
                {[...new Set(reasons)].map((reason) => (
                  <li key={reason}>{reason}</li>
                ))}
              </ul>
            </div>
          </div>
        );
      })}
    </section>
  );
}

export function ComparisonCard({ comparison, base, letter }: ComparisonCardProps) {
  return (
    <Card title={`${letter} against ${base}`} className="comparison">
      <Figures metrics={comparison.metrics} base={base} letter={letter} />
      <Configuration differences={comparison.configuration} base={base} letter={letter} />
    </Card>
  );
}

interface FiguresProps extends Pick<ComparisonCardProps, "base" | "letter"> {
  readonly metrics: readonly MetricDifference[];
}

function Figures({ metrics, base, letter }: FiguresProps) {
  return (
    <div className="table-scroll">
      <table className="table run-table" aria-label={`Figures of ${letter} and ${base}`}>
        <thead>
          <tr>
            <th>Figure</th>
            <th className="num">{base}</th>
            <th className="num">{letter}</th>
            <th className="num">Change</th>
            <th className="num from-sm" title="Of the change: with 95 % of certainty within">
              95 % interval
            </th>
            <th className="num from-sm" title="The chance that noise alone makes such a difference">
              Chance of noise
            </th>
            <th>Verdict</th>
          </tr>
        </thead>
        <tbody>
          {metrics.map((each) => (
            <tr key={`${each.metric} ${each.of}`} data-metric={`${each.metric}/${each.of}`}>
              <td>{metricName(each)}</td>
              <td className="num">{metricValue(each.metric, each.before, each.is_least[0])}</td>
              <td className="num">{metricValue(each.metric, each.after, each.is_least[1])}</td>
              <td className={`num tone-${tones[each.verdict]}`}>{differenceText(each)}</td>
              <td className="num from-sm dim">{intervalText(each.interval_pct)}</td>
              <td className="num from-sm dim">{chanceText(each.p_value)}</td>
              <td className={`tone-${tones[each.verdict]}`}>{each.verdict}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface ConfigurationProps extends Pick<ComparisonCardProps, "base" | "letter"> {
  readonly differences: RunComparison["configuration"];
}

function Configuration({ differences, base, letter }: ConfigurationProps) {
  if (differences.length === 0) {
    return <p className="dim run-note">Both have the same configuration.</p>;
  }
  return (
    <div className="table-scroll comparison-configuration">
      <table className="table" aria-label={`Configuration of ${letter} and ${base}`}>
        <thead>
          <tr>
            <th>Configured differently</th>
            <th>{base}</th>
            <th>{letter}</th>
          </tr>
        </thead>
        <tbody>
          {differences.map(({ path, before, after }) => (
            <tr key={path}>
              <td className="mono">{path}</td>
              <td className="comparison-value">{valueText(before)}</td>
              <td className="comparison-value">{valueText(after)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
