# recorded.sh - a recorded trace of a real model, on a card that is too small
# for it.
cd "$TRACES"
exec "$FRAGSIM" run -v --device-bytes 6GiB -p bestfit resnet50_train_bs32_fp32.ndjson.gz
