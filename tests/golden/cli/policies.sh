# policies.sh - every policy with its keys.
exec "$FRAGSIM" list policies
