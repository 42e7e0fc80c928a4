NAME        
ROWS
 N  Obj     
 L  pharmacy_1
 L  pharmacy_2
 L  pharmacy_3
 L  pharmacy_4
 L  pharmacy_5
 L  pharmacy_6
 G  hospital_1
 G  hospital_2
 G  hospital_3
 G  hospital_4
 G  hospital_5
 G  hospital_6
 G  hospital_7
 G  hospital_8
COLUMNS
    column_1  Obj       0.2437
    column_1  pharmacy_1  1
    column_1  hospital_1  1
    column_2  Obj       0.539
    column_2  pharmacy_1  1
    column_2  hospital_2  1
    column_3  Obj       0.6651
    column_3  pharmacy_1  1
    column_3  hospital_3  1
    column_4  Obj       0.7541
    column_4  pharmacy_1  1
    column_4  hospital_4  1
    column_5  Obj       0.7112
    column_5  pharmacy_1  1
    column_5  hospital_5  1
    column_6  Obj       0.0403
    column_6  pharmacy_1  1
    column_6  hospital_6  1
    column_7  Obj       0.5033
    column_7  pharmacy_1  1
    column_7  hospital_7  1
    column_8  Obj       0.6742
    column_8  pharmacy_1  1
    column_8  hospital_8  1
    column_9  Obj       0.2452
    column_9  pharmacy_2  1
    column_9  hospital_1  1
    column_10  Obj       0.5201
    column_10  pharmacy_2  1
    column_10  hospital_2  1
    column_11  Obj       0.5456
    column_11  pharmacy_2  1
    column_11  hospital_3  1
    column_12  Obj       0.6889
    column_12  pharmacy_2  1
    column_12  hospital_4  1
    column_13  Obj       0.9022
    column_13  pharmacy_2  1
    column_13  hospital_5  1
    column_14  Obj       0.3425
    column_14  pharmacy_2  1
    column_14  hospital_6  1
    column_15  Obj       0.8476
    column_15  pharmacy_2  1
    column_15  hospital_7  1
    column_16  Obj       0.7803
    column_16  pharmacy_2  1
    column_16  hospital_8  1
    column_17  Obj       0.3655
    column_17  pharmacy_3  1
    column_17  hospital_1  1
    column_18  Obj       0.0314
    column_18  pharmacy_3  1
    column_18  hospital_2  1
    column_19  Obj       0.1789
    column_19  pharmacy_3  1
    column_19  hospital_3  1
    column_20  Obj       0.1941
    column_20  pharmacy_3  1
    column_20  hospital_4  1
    column_21  Obj       0.4612
    column_21  pharmacy_3  1
    column_21  hospital_5  1
    column_22  Obj       0.5837
    column_22  pharmacy_3  1
    column_22  hospital_6  1
    column_23  Obj       0.7163
    column_23  pharmacy_3  1
    column_23  hospital_7  1
    column_24  Obj       0.2721
    column_24  pharmacy_3  1
    column_24  hospital_8  1
    column_25  Obj       0.6259
    column_25  pharmacy_4  1
    column_25  hospital_1  1
    column_26  Obj       0.5264
    column_26  pharmacy_4  1
    column_26  hospital_2  1
    column_27  Obj       0.6937
    column_27  pharmacy_4  1
    column_27  hospital_3  1
    column_28  Obj       0.6413
    column_28  pharmacy_4  1
    column_28  hospital_4  1
    column_29  Obj       0.1502
    column_29  pharmacy_4  1
    column_29  hospital_5  1
    column_30  Obj       0.6663
    column_30  pharmacy_4  1
    column_30  hospital_6  1
    column_31  Obj       0.3428
    column_31  pharmacy_4  1
    column_31  hospital_7  1
    column_32  Obj       0.3156
    column_32  pharmacy_4  1
    column_32  hospital_8  1
    column_33  Obj       0.792
    column_33  pharmacy_5  1
    column_33  hospital_1  1
    column_34  Obj       0.4921
    column_34  pharmacy_5  1
    column_34  hospital_2  1
    column_35  Obj       0.5601
    column_35  pharmacy_5  1
    column_35  hospital_3  1
    column_36  Obj       0.4182
    column_36  pharmacy_5  1
    column_36  hospital_4  1
    column_37  Obj       0.3229
    column_37  pharmacy_5  1
    column_37  hospital_5  1
    column_38  Obj       0.9554
    column_38  pharmacy_5  1
    column_38  hospital_6  1
    column_39  Obj       0.8099
    column_39  pharmacy_5  1
    column_39  hospital_7  1
    column_40  Obj       0.2495
    column_40  pharmacy_5  1
    column_40  hospital_8  1
    column_41  Obj       0.4922
    column_41  pharmacy_6  1
    column_41  hospital_1  1
    column_42  Obj       0.4582
    column_42  pharmacy_6  1
    column_42  hospital_2  1
    column_43  Obj       0.634
    column_43  pharmacy_6  1
    column_43  hospital_3  1
    column_44  Obj       0.6153
    column_44  pharmacy_6  1
    column_44  hospital_4  1
    column_45  Obj       0.2578
    column_45  pharmacy_6  1
    column_45  hospital_5  1
    column_46  Obj       0.5176
    column_46  pharmacy_6  1
    column_46  hospital_6  1
    column_47  Obj       0.2796
    column_47  pharmacy_6  1
    column_47  hospital_7  1
    column_48  Obj       0.3366
    column_48  pharmacy_6  1
    column_48  hospital_8  1
RHS
    RHS_V     pharmacy_1  289
    RHS_V     pharmacy_2  316
    RHS_V     pharmacy_3  287
    RHS_V     pharmacy_4  341
    RHS_V     pharmacy_5  185
    RHS_V     pharmacy_6  272
    RHS_V     hospital_1  93
    RHS_V     hospital_2  36
    RHS_V     hospital_3  52
    RHS_V     hospital_4  117
    RHS_V     hospital_5  62
    RHS_V     hospital_6  72
    RHS_V     hospital_7  49
    RHS_V     hospital_8  31
ENDATA
