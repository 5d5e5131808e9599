# many.sh - more policies than have room for charts.
cd "$TRACES"
exec "$FRAGSIM" run -p bestfit -p firstfit -p nextfit -p worstfit -p buddy -p sizeclass -p direct \
	resnet50_train_bs32_fp32.ndjson.gz
