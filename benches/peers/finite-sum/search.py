"""The smallest budget that is enough."""

# A budget within this fraction of the smallest one will do.
RESOLUTION = 0.05
OVER = "over"
STALLS = "stalls"


def smallest_budgets(run, targets, cap):
    """For each target the smallest budget whose objective is at most the target.

    `run(budget)` gives seconds and objective. Budgets are doubled until the hardest target is met,
    then bisected. Where a solver needs more than `cap` seconds the answer is OVER; where it no longer
    moves, STALLS.
    """
    values = {}

    def value(budget):
        if budget not in values:
            values[budget] = run(budget)
        return values[budget]

    budget, last, reason = 1, False, OVER
    while True:
        seconds, objective = value(budget)
        if objective <= min(targets) or last or seconds > cap:
            break
        previous = [values[b][1] for b in sorted(values)[-4:]]
        if len(previous) == 4 and budget >= 64 and max(previous) == min(previous):
            reason = STALLS
            break
        if 2.0 * seconds > cap:
            # One last try, with all the time there is.
            last = True
            budget = max(int(budget * cap / seconds), budget + 1)
        else:
            budget *= 2
    return [bisect(value, sorted(values), target, cap, reason) for target in targets]


def bisect(value, tried, target, cap, reason):
    """The smallest budget between the last that was too small and the first that was not."""
    enough = [b for b in tried if value(b)[1] <= target and value(b)[0] <= cap]
    if not enough:
        return reason
    high = min(enough)
    low = max((b for b in tried if b < high), default=0)
    while high - low > max(1, RESOLUTION * high):
        middle = (low + high) // 2
        if value(middle)[1] <= target:
            high = middle
        else:
            low = middle
    return high
